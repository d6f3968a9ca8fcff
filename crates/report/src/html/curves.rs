//! How a campaign went: figures over time, one small chart each.

use super::Html;
use crate::text::thousands;

/// A figure over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// What it is, with its unit: "cases a second".
    pub name: String,
    /// Seconds since the campaign began, rising, and the figure then.
    pub points: Vec<(f64, f64)>,
}

/// Size of a chart's plane in user units.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 70.0;

/// The section; nothing if there is nothing to draw.
pub(super) fn section(html: &mut Html, curves: &[Curve]) {
    let drawn: Vec<&Curve> = curves.iter().filter(|curve| curve.points.len() > 1).collect();
    if drawn.is_empty() {
        return;
    }
    html.section("Over time").raw("<div class=\"curves\">\n");
    drawn.into_iter().for_each(|curve| chart(html, curve));
    html.raw("</div>\n</section>\n");
}

fn chart(html: &mut Html, curve: &Curve) {
    let end = curve.points.last().map_or(0.0, |point| point.0).max(1e-9);
    let top = curve.points.iter().map(|point| point.1).fold(0.0, f64::max);
    let x = |seconds: f64| WIDTH * seconds / end;
    let y = |figure: f64| HEIGHT - HEIGHT * figure / top.max(1e-9);
    let line: Vec<String> = curve.points.iter().map(|&(at, figure)| format!("{:.1},{:.1}", x(at), y(figure))).collect();
    let last = curve.points.last().map_or(0.0, |point| point.1);
    html.raw("<figure>\n<figcaption>").element("b", &[], &curve.name);
    html.element("span", &[], format_args!("at most {}, at the end {}", figure(top), figure(last)));
    html.raw("</figcaption>\n");
    let view = format!("0 -2 {WIDTH} {}", HEIGHT + 4.0);
    html.open("svg", &[("viewBox", &view), ("preserveAspectRatio", &"none"), ("role", &"img")]);
    html.element("title", &[], format_args!("{} over {}", curve.name, minutes(end)));
    let first = curve.points.first().map_or(0.0, |point| x(point.0));
    let area = format!("{first:.1},{HEIGHT} {} {WIDTH},{HEIGHT}", line.join(" "));
    html.open("polygon", &[("points", &area)]).raw("</polygon>");
    html.open("polyline", &[("points", &line.join(" "))]).raw("</polyline></svg>\n");
    html.raw("<p class=\"axis\"><span>0</span>").element("span", &[], minutes(end)).raw("</p>\n</figure>\n");
}

fn minutes(seconds: f64) -> String {
    if seconds < 120.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}

fn figure(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { thousands(value.round() as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(points: &[(f64, f64)]) -> String {
        let mut html = Html::default();
        section(&mut html, &[Curve { name: "cases a second".into(), points: points.to_vec() }]);
        html.0
    }

    #[test]
    fn a_curve_goes_from_its_first_point_to_the_right_edge() {
        let text = drawn(&[(0.0, 0.0), (60.0, 20.0), (240.0, 5.0)]);
        for part in [
            "points=\"0.0,70.0 75.0,0.0 300.0,52.5\"",
            "at most 20.0, at the end 5.0",
            "over 4 min",
            "<span>4 min</span>",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn without_two_points_nothing_is_drawn() {
        assert_eq!(drawn(&[]), "");
        assert_eq!(drawn(&[(1.0, 1.0)]), "");
        assert!(!drawn(&[(0.0, 0.0), (0.0, 0.0)]).contains("NaN"));
    }
}
