//! The live view of `tangle fuzz --view`: more than fits into the progress line.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize as _};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Paragraph, Row, Sparkline, Table};
use ratatui::{DefaultTerminal, Frame};
use tangle_campaign::campaign::Moment;
use tangle_identity::Status;
use tangle_report::campaign::Sample;
use tangle_report::statistics::{BugEntry, SignatureEntry, Statistics};
use tangle_report::text::thousands;

/// Seconds over which a rate is taken.
const RATE: f64 = 10.0;

/// Samples kept for the curve.
const CURVE: usize = 240;

/// Events that are kept, the newest.
const EVENTS: usize = 50;

/// The view on a terminal, which is as it was before when this is dropped.
pub struct View {
    terminal: DefaultTerminal,
    state: State,
    stop: &'static AtomicBool,
    drawn: Option<Instant>,
}

impl View {
    /// Takes the terminal. `stop` is set when the user wants to end.
    ///
    /// # Errors
    /// If there is no terminal.
    pub fn open(title: String, stop: &'static AtomicBool) -> io::Result<View> {
        let terminal = ratatui::try_init()?;
        Ok(View { terminal, state: State::new(title), stop, drawn: None })
    }

    /// Shows how the campaign stands, and looks for keys.
    pub fn show(&mut self, moment: &Moment<'_>) {
        while event::poll(Duration::ZERO).unwrap_or(false) {
            let Ok(Event::Key(key)) = event::read() else { continue };
            // A terminal in raw mode sends Ctrl-C as a key.
            let interrupts = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
            let ends = matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) || interrupts;
            match key.code {
                KeyCode::Down | KeyCode::PageDown => self.state.scroll(1),
                KeyCode::Up | KeyCode::PageUp => self.state.scroll(-1),
                _ => {}
            }
            if ends && key.kind == KeyEventKind::Press && self.stop.swap(true, Ordering::SeqCst) {
                // The second time: at once.
                ratatui::restore();
                std::process::exit(2);
            }
        }
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < Duration::from_millis(450)) {
            return;
        }
        self.drawn = Some(Instant::now());
        self.state.take(moment.sample, moment.statistics, &moment.line);
        self.state.remaining = moment.remaining;
        self.state.ending = self.stop.load(Ordering::SeqCst);
        // A view that cannot be drawn is no reason to stop.
        let _ = self.terminal.draw(|frame| draw(frame, &self.state));
    }
}

impl Drop for View {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// What is shown, as of the last sample.
struct State {
    title: String,
    line: String,
    /// The latest samples, one for each second or so.
    samples: VecDeque<Sample>,
    findings: Vec<SignatureEntry>,
    /// Names and cases of known bugs, by device.
    known: Vec<(String, String, u64)>,
    events: VecDeque<String>,
    ending: bool,
    /// Time that the campaign has left, if it has a limit.
    remaining: Option<Duration>,
    /// Devices above those that are shown.
    scrolled: usize,
}

impl State {
    fn new(title: String) -> State {
        State {
            title,
            line: String::new(),
            samples: VecDeque::new(),
            findings: Vec::new(),
            known: Vec::new(),
            events: VecDeque::new(),
            ending: false,
            remaining: None,
            scrolled: 0,
        }
    }

    fn take(&mut self, sample: &Sample, statistics: &Statistics, line: &str) {
        line.clone_into(&mut self.line);
        self.note_events(sample, statistics);
        self.findings.clone_from(&statistics.findings);
        self.known =
            statistics.known.iter().map(|entry| (entry.device.clone(), entry.bug.clone(), entry.cases)).collect();
        if self.samples.back().is_none_or(|last| last != sample) {
            self.samples.push_back(sample.clone());
            if self.samples.len() > CURVE {
                self.samples.pop_front();
            }
        }
    }

    /// Scrolls the list of devices by so many.
    fn scroll(&mut self, by: isize) {
        let last = self.now().map_or(0, |sample| sample.devices.len().saturating_sub(1));
        self.scrolled = self.scrolled.saturating_add_signed(by).min(last);
    }

    /// Notes what is new since the last time.
    fn note_events(&mut self, sample: &Sample, statistics: &Statistics) {
        let Some(last) = self.samples.back() else { return };
        let mut events = Vec::new();
        for entry in statistics.findings.iter().skip(self.findings.len()) {
            let place = if entry.cases == 0 { "in the minimiser".into() } else { format!("case {}", entry.first_case) };
            events.push(format!("new on {}: {}, {place}", entry.device, entry.signature));
        }
        for (name, device) in &sample.devices {
            let before = last.devices.get(name).map_or(0, |device| device.restarts);
            if device.restarts > before {
                events.push(format!("{name}: {} workers replaced", device.restarts - before));
            }
        }
        if sample.bugs > last.bugs {
            let newest = statistics.bugs.last().map_or_else(String::new, BugEntry::title);
            events.push(format!("{} bugs after minimising, the latest: {newest}", sample.bugs));
        }
        for event in events {
            self.events.push_front(format!("{} {event}", clock(sample.seconds)));
        }
        self.events.truncate(EVENTS);
    }

    fn now(&self) -> Option<&Sample> {
        self.samples.back()
    }

    /// What a count grew by in a second, over the last while.
    fn rate(&self, count: impl Fn(&Sample) -> u64) -> f64 {
        let Some(now) = self.now() else { return 0.0 };
        let past = self.samples.iter().rev().take_while(|sample| now.seconds - sample.seconds <= RATE).last();
        let Some(past) = past.filter(|past| past.seconds < now.seconds) else { return 0.0 };
        count(now).saturating_sub(count(past)) as f64 / (now.seconds - past.seconds)
    }

    /// Cases a second from sample to sample.
    fn curve(&self) -> Vec<u64> {
        let pairs = self.samples.iter().zip(self.samples.iter().skip(1));
        let rate = |(a, b): (&Sample, &Sample)| {
            (b.cases().saturating_sub(a.cases()) as f64 / (b.seconds - a.seconds).max(0.1)).round() as u64
        };
        pairs.map(rate).collect()
    }
}

/// `1:02:03` for so many seconds.
fn clock(seconds: f64) -> String {
    let whole = seconds as u64;
    format!("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
}

/// Rows of what is not the devices' table, at least: head, findings, events, foot.
const OTHERS: u16 = 3 + 5 + 4 + 1;

/// Rows from which there is a place for the curve.
const TALL: u16 = 30;

/// Columns from which there is a place for everything about a device.
const WIDE: u16 = 100;

fn draw(frame: &mut Frame<'_>, state: &State) {
    let devices = state.now().map_or(0, |sample| sample.devices.len()) as u16;
    let height = frame.area().height;
    let curve = if height >= TALL { 4 } else { 0 };
    // Findings and events are always there: the devices that find no place are scrolled to.
    let table = (devices + 3).min(height.saturating_sub(OTHERS + curve));
    let areas = Layout::vertical([
        Constraint::Length(3),
        Constraint::Length(table),
        Constraint::Length(curve),
        Constraint::Min(5),
        Constraint::Min(4),
        Constraint::Length(1),
    ]);
    let [head, table, curve, findings, events, foot] = areas.areas(frame.area());
    draw_head(frame, state, head);
    draw_devices(frame, state, table);
    if curve.height > 0 {
        draw_curve(frame, state, curve);
    }
    draw_findings(frame, state, findings);
    let lines: Vec<Line<'_>> = state.events.iter().map(|event| Line::from(event.as_str())).collect();
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(" events ")), events);
    let hint = match state.ending {
        true => format!("ending: {}; again to end at once", state.line),
        false => "q or Ctrl-C: end cleanly; the same command goes on later".into(),
    };
    frame.render_widget(Paragraph::new(hint).dim(), foot);
}

fn draw_curve(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let rates = state.curve();
    let shown = &rates[rates.len().saturating_sub(usize::from(area.width.saturating_sub(2)))..];
    let most = shown.iter().max().copied().unwrap_or(0);
    let title = format!(" cases a second, at most {most} ");
    frame.render_widget(Sparkline::default().data(shown).cyan().block(Block::bordered().title(title)), area);
}

fn draw_head(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let remaining = state.remaining.map_or(String::new(), |left| format!("  {} left", clock(left.as_secs_f64())));
    let text = state.now().map_or_else(String::new, |sample| {
        format!(
            "{}{remaining}  {} cases, {:.1}/s  {} values, {:.0}/s  memory {} MB",
            clock(sample.seconds),
            thousands(sample.cases()),
            state.rate(Sample::cases),
            thousands(sample.checked()),
            state.rate(Sample::checked),
            sample.memory >> 20
        )
    });
    frame.render_widget(Paragraph::new(text).block(Block::bordered().title(format!(" {} ", state.title))), area);
}

fn draw_devices(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let Some(now) = state.now() else { return };
    let is_wide = area.width >= WIDE;
    let place = usize::from(area.height.saturating_sub(3));
    let first = state.scrolled.min(now.devices.len().saturating_sub(place));
    let rows = now.devices.iter().skip(first).take(place).map(|(name, device)| {
        let cases = |sample: &Sample| sample.devices.get(name).map_or(0, |device| device.cases);
        let (filled, cells) = device.coverage;
        let mut row = vec![name.clone(), thousands(device.cases), format!("{:.1}", state.rate(cases))];
        if is_wide {
            row.push(thousands(device.checked));
            row.push(format!("{:.0} %", 100.0 * filled as f64 / cells.max(1) as f64));
        }
        row.extend([thousands(device.restarts), verdicts(&device.verdicts)]);
        Row::new(row)
    });
    let length = Constraint::Length;
    let mut widths = vec![Constraint::Max(24), length(9), length(7)];
    let mut head = vec!["device", "cases", "cases/s"];
    if is_wide {
        widths.extend([length(12), length(7)]);
        head.extend(["values", "covered"]);
    }
    widths.extend([length(8), Constraint::Fill(1)]);
    head.extend(["restarts", "verdicts"]);
    let more = now.devices.len().saturating_sub(place);
    let title = match more {
        0 => String::new(),
        more => format!(" devices {} to {}, {more} more: arrows scroll ", first + 1, first + place),
    };
    let table = Table::new(rows, widths).header(Row::new(head).dim());
    frame.render_widget(table.block(Block::bordered().title(title)), area);
}

/// What is not `pass`.
fn verdicts(verdicts: &BTreeMap<Status, u64>) -> String {
    let others = verdicts.iter().filter(|(verdict, _)| **verdict != Status::Pass);
    others.map(|(verdict, count)| format!("{} {count}", verdict.title())).collect::<Vec<_>>().join(", ")
}

/// Findings, those with most cases first, and the known bugs below.
fn draw_findings(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let mut findings: Vec<&SignatureEntry> = state.findings.iter().collect();
    findings.sort_by_key(|entry| std::cmp::Reverse(entry.cases));
    let new = findings.into_iter().map(|entry| {
        let cells = [thousands(entry.cases), entry.device.clone(), entry.signature.to_string()];
        Row::new(cells).style(Style::new().fg(Color::Red))
    });
    let known = state.known.iter().map(|(device, bug, cases)| {
        Row::new([Cell::from(thousands(*cases)), Cell::from(device.as_str()), Cell::from(format!("known: {bug}"))])
            .dim()
    });
    let widths = [Constraint::Length(8), Constraint::Max(24), Constraint::Fill(1)];
    let waiting = state.now().map_or(0, |sample| sample.waiting);
    let title = format!(" findings: {} signatures, {waiting} wait to be minimised ", state.findings.len());
    frame.render_widget(Table::new(new.chain(known), widths).block(Block::bordered().title(title)), area);
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use tangle_identity::{Detail, Kind, Signature};
    use tangle_report::campaign::DeviceSample;
    use tangle_report::statistics::KnownEntry;

    use super::*;

    fn sample(seconds: f64, cases: u64, restarts: u64) -> Sample {
        let device = DeviceSample {
            cases,
            checked: cases * 1_000,
            verdicts: [(Status::Pass, cases - 2), (Status::Finding(Kind::Value), 2)].into(),
            restarts,
            coverage: (1_200, 2_400),
            ..DeviceSample::default()
        };
        let devices = [("lvp".to_owned(), device)].into();
        Sample { seconds, devices, memory: 64 << 20, waiting: 1, ..Sample::default() }
    }

    fn screen(state: &State) -> String {
        let mut terminal = Terminal::new(TestBackend::new(110, 32)).expect("a screen");
        terminal.draw(|frame| draw(frame, state)).expect("it draws");
        terminal.backend().to_string()
    }

    #[test]
    fn the_view_has_rates_coverage_findings_events_and_known_bugs() {
        let mut state = State::new("seed 7".into());
        let mut statistics = Statistics::default();
        state.take(&sample(3_600.0, 100, 0), &statistics, "");
        let signature = Signature::new(Kind::Value, Detail::Text("ballot, wrong value".into()));
        statistics.finding("lvp", &signature, 103).cases = 2;
        statistics.known.push(KnownEntry { device: "lvp".into(), bug: "the loop bug".into(), cases: 4 });
        state.take(&sample(3_605.0, 150, 1), &statistics, "");
        let screen = screen(&state);
        for part in [
            "1:00:05  150 cases, 10.0/s  150,000 values, 10000/s  memory 64 MB",
            "seed 7",
            "50 %",
            "value 2",
            "findings: 1 signatures, 1 wait",
            "known: the loop bug",
            "1:00:05 new on lvp: value: ballot, wrong value, case 103",
            "lvp: 1 workers replaced",
            "q or Ctrl-C",
        ] {
            assert!(screen.contains(part), "{part}\n{screen}");
        }
    }

    #[test]
    fn an_empty_campaign_and_a_small_terminal_are_drawn() {
        let state = State::new("seed 7".into());
        let mut terminal = Terminal::new(TestBackend::new(20, 5)).expect("a screen");
        terminal.draw(|frame| draw(frame, &state)).expect("it draws");
        assert!(screen(&state).contains("0 signatures"));
    }

    #[test]
    fn twenty_devices_leave_findings_and_events_a_place() {
        let mut state = State::new("seed 7".into());
        let device = |number: usize| (format!("device-{number:02}"), sample(0.0, 9, 0).devices["lvp"].clone());
        let many = Sample { seconds: 60.0, devices: (0..20).map(device).collect(), ..Sample::default() };
        let mut statistics = Statistics::default();
        state.take(&many, &statistics, "");
        let signature = Signature::new(Kind::Value, Detail::Text("ballot, wrong value".into()));
        statistics.finding("device-03", &signature, 103).cases = 2;
        state.take(&Sample { seconds: 61.0, ..many }, &statistics, "");
        state.remaining = Some(Duration::from_secs(125));
        let draw = |state: &State| {
            let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a screen");
            terminal.draw(|frame| draw(frame, state)).expect("it draws");
            terminal.backend().to_string()
        };
        let top = draw(&state);
        for part in [
            "device-00",
            "more: arrows scroll",
            "0:02:05 left",
            "findings: 1",
            "ballot, wrong value",
            "new on device-03",
            "value 2",
        ] {
            assert!(top.contains(part), "{part}\n{top}");
        }
        assert!(!top.contains("device-19"), "{top}");
        (0..30).for_each(|_| state.scroll(1));
        let bottom = draw(&state);
        assert!(bottom.contains("device-19") && !bottom.contains("device-00"), "{bottom}");
    }
}
