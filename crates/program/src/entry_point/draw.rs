//! What is drawn for fragment shaders, and which fragments it has.

use serde::{Deserialize, Serialize};

/// Triangles that are drawn into a framebuffer without attachments, without culling, blending or tests. Each sample that a triangle has inside is
/// one fragment shader invocation for this triangle and layer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// Width of the framebuffer, pixels.
    pub width: u32,
    /// Height of the framebuffer, pixels.
    pub height: u32,
    /// The corners of each triangle, in pixels. No side of a triangle goes through a sample, so that its fragments are known whatever the
    /// rasteriser does with ties.
    pub triangles: Vec<[[u32; 2]; 3]>,
    /// Layers of the framebuffer. All triangles are drawn into each of them, one layer after the other.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub layers: u32,
    /// Samples of a pixel, at the [standard locations](Draw::sample_locations), each shaded by itself (Vulkan, Sample Shading).
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub samples: u32,
    /// `RequireFullQuadsKHR` (SPV_KHR_quad_control).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub full_quads: bool,
    /// `QuadDerivativesKHR` (SPV_KHR_quad_control).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quad_derivatives: bool,
}

const fn one() -> u32 {
    1
}

fn is_one(count: &u32) -> bool {
    *count == 1
}

/// What the fragments at one depth of a draw's [grid](Draw::grid) have in common. No quad is in two of these: all of a quad are of one primitive, and
/// "Each invocation has the same layer and sample indices." (Vulkan, Quad; docs/rules.md, rule H2)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Index of the triangle in [`Draw::triangles`].
    pub triangle: u32,
    /// The layer that it is drawn into.
    pub layer: u32,
    /// The sample of each pixel.
    pub sample: u32,
}

/// Where a sample is, seen from a triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Inside: it is a fragment's.
    Inside,
    /// Outside: there is none.
    Outside,
    /// On one of its sides.
    OnSide,
    /// Within a sixteenth of a pixel of a side that leaves the framebuffer aslant. Clipping puts a corner where it does, and that is rounded: to 16 parts
    /// of a pixel at worst (Vulkan, Required Limits, `subPixelPrecisionBits`). So it may be inside or not.
    NearClippedSide,
}

/// Locations of samples are multiples of one part of so many of a pixel.
const SUBPIXELS: u32 = 16;

impl Draw {
    /// The numbers of samples that a pixel may have.
    pub const SAMPLES: [u32; 4] = [1, 2, 4, 8];

    /// Triangles in a framebuffer of one layer, with one sample a pixel.
    pub const fn new([width, height]: [u32; 2], triangles: Vec<[[u32; 2]; 3]>) -> Draw {
        Draw { width, height, triangles, layers: 1, samples: 1, full_quads: false, quad_derivatives: false }
    }

    /// Where the samples of a pixel are, in 16ths of it from its corner at the left above (Vulkan, Multisampling, Standard Sample Locations); none
    /// for other numbers of samples than [`Draw::SAMPLES`].
    pub const fn sample_locations(&self) -> &'static [[u32; 2]] {
        match self.samples {
            1 => &[[8, 8]],
            2 => &[[12, 12], [4, 4]],
            4 => &[[6, 2], [14, 6], [2, 10], [10, 14]],
            8 => &[[9, 5], [7, 11], [13, 9], [5, 3], [3, 13], [1, 7], [11, 15], [15, 1]],
            _ => &[],
        }
    }

    /// Primitives that are drawn: the triangles of each layer. Saturates.
    pub fn primitives(&self) -> u32 {
        (self.triangles.len() as u32).saturating_mul(self.layers)
    }

    /// Columns, rows and [slices](Draw::slice) of what fragments, and helper invocations beside them, are numbered in: whole quads.
    pub fn grid(&self) -> [u32; 3] {
        let even = |side: u32| side.saturating_add(side % 2);
        [even(self.width), even(self.height), self.primitives().saturating_mul(self.samples)]
    }

    /// What is at a depth of the grid: the samples of a primitive follow each other, and the primitives in the order of the draw.
    pub fn slice(&self, depth: u32) -> Slice {
        let (primitive, triangles) = (self.primitive(depth), (self.triangles.len() as u32).max(1));
        Slice { triangle: primitive % triangles, layer: primitive / triangles, sample: depth % self.samples.max(1) }
    }

    /// The primitive that a depth of the grid is of, by the order of the draw.
    pub fn primitive(&self, depth: u32) -> u32 {
        depth / self.samples.max(1)
    }

    /// The name of a slice in reports: of what there is only one of its kind nothing is said.
    pub fn describe_slice(&self, depth: u32) -> String {
        let Slice { triangle, layer, sample } = self.slice(depth);
        let mut name = format!("triangle {triangle}");
        for (what, number, count) in [("layer", layer, self.layers), ("sample", sample, self.samples)] {
            if count > 1 {
                name += &format!(", {what} {number}");
            }
        }
        name
    }

    /// True if clipping moves a side: an end of it is outside of the framebuffer, and it is not parallel to the axes.
    fn is_clipped_aslant(&self, ends: [[u32; 2]; 2]) -> bool {
        let [[ax, ay], [bx, by]] = ends;
        ax != bx && ay != by && ends.iter().any(|&[x, y]| x > self.width || y > self.height)
    }

    /// Where a sample of a pixel is, by exact arithmetic.
    pub fn coverage(&self, triangle: u32, sample: u32, [x, y]: [u32; 2]) -> Coverage {
        let Some(corners) = self.triangles.get(triangle as usize) else { return Coverage::Outside };
        let Some(location) = self.sample_locations().get(sample as usize) else { return Coverage::Outside };
        if x >= self.width || y >= self.height {
            return Coverage::Outside;
        }
        let parts = |whole: u32, part: u32| i64::from(whole) * i64::from(SUBPIXELS) + i64::from(part);
        let (px, py) = (parts(x, location[0]), parts(y, location[1]));
        // On which side of each line it is; 0 where it is on it, or near to it and that is clipped.
        let mut is_near = false;
        let mut side = |k: usize| {
            let ends @ [[ax, ay], [bx, by]] = [corners[k], corners[(k + 1) % 3]];
            let [ax, ay, bx, by] = [ax, ay, bx, by].map(|c| parts(c, 0));
            let cross = (bx - ax) * (py - ay) - (by - ay) * (px - ax);
            // Its distance is that over the length, in parts of a pixel.
            let square = (bx - ax) * (bx - ax) + (by - ay) * (by - ay);
            let near = cross != 0 && self.is_clipped_aslant(ends) && cross * cross < square;
            is_near |= near;
            if near { 0 } else { cross.signum() }
        };
        let sides = [side(0), side(1), side(2)];
        match (sides.contains(&-1), sides.contains(&1)) {
            (true, true) => Coverage::Outside,
            _ if !sides.contains(&0) => Coverage::Inside,
            _ if is_near => Coverage::NearClippedSide,
            _ => Coverage::OnSide,
        }
    }

    /// The corners in clip coordinates: x and y of each, as the bits of floats. The viewport is the framebuffer.
    pub fn corners(&self) -> Vec<u32> {
        let clip = |at: u32, side: u32| ((2.0 * f64::from(at) / f64::from(side) - 1.0) as f32).to_bits();
        let corners = self.triangles.iter().flatten();
        corners.flat_map(|&[x, y]| [clip(x, self.width), clip(y, self.height)]).collect()
    }

    /// True if there is a fragment at this place of the grid.
    pub fn covers(&self, [x, y, depth]: [u32; 3]) -> bool {
        let Slice { triangle, layer, sample } = self.slice(depth);
        layer < self.layers && self.coverage(triangle, sample, [x, y]) == Coverage::Inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_of_a_triangle() {
        // Pixels with their centre above the diagonal from (0, 5) to (4, 0), by hand.
        let draw = Draw::new([3, 5], vec![[[0, 0], [4, 0], [0, 5]]]);
        let rows: Vec<String> =
            (0..6).map(|y| (0..4).map(|x| if draw.covers([x, y, 0]) { '#' } else { '.' }).collect()).collect();
        assert_eq!(rows, ["###.", "###.", "##..", "#...", "....", "...."]);
        assert_eq!(draw.grid(), [4, 6, 1]);
        let through = Draw::new([2, 2], vec![[[0, 0], [2, 0], [0, 2]]]);
        assert_eq!(through.coverage(0, 0, [1, 0]), Coverage::OnSide);
    }

    /// A side from (10, 5) to (0, 22) is 0.019 pixels from sample 1 of pixel (3, 15). Where the framebuffer ends at y = 16 the side is clipped at (3.53, 16), and
    /// a driver that rounds that to (3.5, 16) has the sample outside: SwiftShader does. In a larger framebuffer it is inside.
    #[test]
    fn samples_beside_a_side_that_is_clipped() {
        for (height, expected) in [(16, Coverage::NearClippedSide), (22, Coverage::Inside)] {
            let draw = Draw { samples: 4, ..Draw::new([16, height], vec![[[0, 5], [10, 5], [0, 22]]]) };
            assert_eq!(draw.coverage(0, 1, [3, 15]), expected, "{height}");
            assert_eq!(draw.coverage(0, 1, [2, 15]), Coverage::Inside, "far from it");
            assert_eq!(draw.coverage(0, 1, [5, 15]), Coverage::Outside, "far from it");
        }
        // What covers everything is far enough from all samples in every framebuffer.
        for (width, height) in [(1, 1), (1, 128), (128, 1), (67, 33), (128, 128)] {
            for samples in Draw::SAMPLES {
                let whole = [[0, 0], [2 * width, 0], [0, 2 * height]];
                let draw = Draw { samples, ..Draw::new([width, height], vec![whole]) };
                let last = [width - 1, height - 1];
                assert!(
                    (0..samples).all(|sample| draw.coverage(0, sample, last) == Coverage::Inside),
                    "{width} {height}"
                );
            }
        }
    }

    /// Half a pixel, above the diagonal from (0, 1) to (1, 0), by hand.
    #[test]
    fn samples_of_a_triangle() {
        let half = Draw::new([1, 1], vec![[[0, 0], [1, 0], [0, 1]]]);
        let of = |samples| {
            let draw = Draw { samples, ..half.clone() };
            let letter = |sample| match draw.coverage(0, sample, [0, 0]) {
                Coverage::Inside => '#',
                Coverage::Outside => '.',
                Coverage::OnSide => '/',
                Coverage::NearClippedSide => '~',
            };
            (0..samples).map(letter).collect::<String>()
        };
        for (samples, inside) in [(1, "/"), (2, ".#"), (4, "#.#."), (8, "#..#/#./"), (3, "...")] {
            assert_eq!(of(samples), inside, "{samples}");
        }
        for samples in Draw::SAMPLES {
            let draw = Draw { samples, ..half.clone() };
            assert_eq!(draw.sample_locations().len(), samples as usize);
            assert!(draw.sample_locations().as_flattened().iter().all(|&part| part < SUBPIXELS));
        }
    }

    #[test]
    fn slices_of_a_draw() {
        let triangle = [[0, 0], [2, 0], [0, 4]];
        let draw = Draw { layers: 2, samples: 4, ..Draw::new([1, 2], vec![triangle; 3]) };
        assert_eq!((draw.grid(), draw.primitives()), ([2, 2, 24], 6));
        let slices: Vec<Slice> = (0..24).map(|depth| draw.slice(depth)).collect();
        assert_eq!(slices[3], Slice { triangle: 0, layer: 0, sample: 3 });
        assert_eq!(slices[4], Slice { triangle: 1, layer: 0, sample: 0 });
        assert_eq!(slices[12 + 4 + 2], Slice { triangle: 1, layer: 1, sample: 2 });
        assert_eq!(draw.describe_slice(18), "triangle 1, layer 1, sample 2");
        assert_eq!(Draw { layers: 1, ..draw.clone() }.describe_slice(4), "triangle 1, sample 0");
        assert!(!draw.covers([0, 0, 24]));
    }
}
