//! Texels: the formats that shaders name, and the images made of them.

use std::fmt;

use ash::vk;
use serde::{Deserialize, Serialize};
use spirv::ImageFormat;

/// The format of texels: the number of a `VkFormat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TexelFormat(i32);

/// SPIR-V's name, Vulkan's format, and bytes of a texel (Vulkan, "Compatibility Between SPIR-V Image Formats and Vulkan Formats", and "Format
/// Definition").
const TABLE: [(ImageFormat, vk::Format, u32); 41] = [
    (ImageFormat::Rgba32f, vk::Format::R32G32B32A32_SFLOAT, 16),
    (ImageFormat::Rgba16f, vk::Format::R16G16B16A16_SFLOAT, 8),
    (ImageFormat::R32f, vk::Format::R32_SFLOAT, 4),
    (ImageFormat::Rgba8, vk::Format::R8G8B8A8_UNORM, 4),
    (ImageFormat::Rgba8Snorm, vk::Format::R8G8B8A8_SNORM, 4),
    (ImageFormat::Rg32f, vk::Format::R32G32_SFLOAT, 8),
    (ImageFormat::Rg16f, vk::Format::R16G16_SFLOAT, 4),
    (ImageFormat::R11fG11fB10f, vk::Format::B10G11R11_UFLOAT_PACK32, 4),
    (ImageFormat::R16f, vk::Format::R16_SFLOAT, 2),
    (ImageFormat::Rgba16, vk::Format::R16G16B16A16_UNORM, 8),
    (ImageFormat::Rgb10A2, vk::Format::A2B10G10R10_UNORM_PACK32, 4),
    (ImageFormat::Rg16, vk::Format::R16G16_UNORM, 4),
    (ImageFormat::Rg8, vk::Format::R8G8_UNORM, 2),
    (ImageFormat::R16, vk::Format::R16_UNORM, 2),
    (ImageFormat::R8, vk::Format::R8_UNORM, 1),
    (ImageFormat::Rgba16Snorm, vk::Format::R16G16B16A16_SNORM, 8),
    (ImageFormat::Rg16Snorm, vk::Format::R16G16_SNORM, 4),
    (ImageFormat::Rg8Snorm, vk::Format::R8G8_SNORM, 2),
    (ImageFormat::R16Snorm, vk::Format::R16_SNORM, 2),
    (ImageFormat::R8Snorm, vk::Format::R8_SNORM, 1),
    (ImageFormat::Rgba32i, vk::Format::R32G32B32A32_SINT, 16),
    (ImageFormat::Rgba16i, vk::Format::R16G16B16A16_SINT, 8),
    (ImageFormat::Rgba8i, vk::Format::R8G8B8A8_SINT, 4),
    (ImageFormat::R32i, vk::Format::R32_SINT, 4),
    (ImageFormat::Rg32i, vk::Format::R32G32_SINT, 8),
    (ImageFormat::Rg16i, vk::Format::R16G16_SINT, 4),
    (ImageFormat::Rg8i, vk::Format::R8G8_SINT, 2),
    (ImageFormat::R16i, vk::Format::R16_SINT, 2),
    (ImageFormat::R8i, vk::Format::R8_SINT, 1),
    (ImageFormat::Rgba32ui, vk::Format::R32G32B32A32_UINT, 16),
    (ImageFormat::Rgba16ui, vk::Format::R16G16B16A16_UINT, 8),
    (ImageFormat::Rgba8ui, vk::Format::R8G8B8A8_UINT, 4),
    (ImageFormat::R32ui, vk::Format::R32_UINT, 4),
    (ImageFormat::Rgb10a2ui, vk::Format::A2B10G10R10_UINT_PACK32, 4),
    (ImageFormat::Rg32ui, vk::Format::R32G32_UINT, 8),
    (ImageFormat::Rg16ui, vk::Format::R16G16_UINT, 4),
    (ImageFormat::Rg8ui, vk::Format::R8G8_UINT, 2),
    (ImageFormat::R16ui, vk::Format::R16_UINT, 2),
    (ImageFormat::R8ui, vk::Format::R8_UINT, 1),
    (ImageFormat::R64ui, vk::Format::R64_UINT, 8),
    (ImageFormat::R64i, vk::Format::R64_SINT, 8),
];

impl TexelFormat {
    /// One unsigned word. Every device has storage images and storage texel buffers of it, with atomics (Vulkan, "Required Format Support").
    pub const R32_UINT: TexelFormat = TexelFormat(vk::Format::R32_UINT.as_raw());

    /// The format that SPIR-V calls so, by its number there; `None` if the number is of no format.
    pub fn of_spirv(format: u32) -> Option<TexelFormat> {
        let row = TABLE.iter().find(|(spirv, ..)| *spirv as u32 == format);
        row.map(|(_, vulkan, _)| TexelFormat(vulkan.as_raw()))
    }

    /// Bytes of a texel; `None` if it is none of the formats that shaders name.
    pub fn bytes(self) -> Option<u32> {
        TABLE.iter().find(|(_, vulkan, _)| vulkan.as_raw() == self.0).map(|(.., bytes)| *bytes)
    }

    pub(crate) const fn vulkan(self) -> vk::Format {
        vk::Format::from_raw(self.0)
    }
}

impl fmt::Display for TexelFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VK_FORMAT_{:?}", self.vulkan())
    }
}

/// What a shader sees an image as (`VkImageViewType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ImageView {
    /// `VK_IMAGE_VIEW_TYPE_1D`.
    D1,
    /// `VK_IMAGE_VIEW_TYPE_1D_ARRAY`: layers of one dimension.
    D1Array,
    /// `VK_IMAGE_VIEW_TYPE_2D`.
    D2,
    /// `VK_IMAGE_VIEW_TYPE_2D_ARRAY`: layers of two dimensions.
    D2Array,
    /// `VK_IMAGE_VIEW_TYPE_3D`.
    D3,
    /// The six faces of a cube.
    Cube,
    /// `VK_IMAGE_VIEW_TYPE_CUBE_ARRAY`: six layers for each cube.
    CubeArray,
}

impl ImageView {
    pub(crate) const fn vulkan(self) -> vk::ImageViewType {
        match self {
            ImageView::D1 => vk::ImageViewType::TYPE_1D,
            ImageView::D1Array => vk::ImageViewType::TYPE_1D_ARRAY,
            ImageView::D2 => vk::ImageViewType::TYPE_2D,
            ImageView::D2Array => vk::ImageViewType::TYPE_2D_ARRAY,
            ImageView::D3 => vk::ImageViewType::TYPE_3D,
            ImageView::Cube => vk::ImageViewType::CUBE,
            ImageView::CubeArray => vk::ImageViewType::CUBE_ARRAY,
        }
    }

    /// The type of the image itself.
    pub(crate) const fn image_type(self) -> vk::ImageType {
        match self {
            ImageView::D1 | ImageView::D1Array => vk::ImageType::TYPE_1D,
            ImageView::D2 | ImageView::D2Array | ImageView::Cube | ImageView::CubeArray => vk::ImageType::TYPE_2D,
            ImageView::D3 => vk::ImageType::TYPE_3D,
        }
    }

    pub(crate) const fn is_cube(self) -> bool {
        matches!(self, ImageView::Cube | ImageView::CubeArray)
    }
}

/// An image of one level and one sample. Its texels lie row by row, slice by slice, layer by layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Image {
    /// The format of its texels.
    pub format: TexelFormat,
    /// What a shader sees.
    pub view: ImageView,
    /// Width, height and depth; 1 where it has fewer dimensions.
    pub extent: [u32; 3],
    /// Layers, six for each cube; 1 if it is no array.
    pub layers: u32,
}

impl Image {
    /// An image of one texel of [`TexelFormat::R32_UINT`], with two dimensions.
    pub const ONE: Image = Image { format: TexelFormat::R32_UINT, view: ImageView::D2, extent: [1; 3], layers: 1 };

    /// Bytes of all its texels; `None` if it has none, or more than can be said.
    pub fn bytes(&self) -> Option<u64> {
        let sides = self.extent.into_iter().chain([self.layers]).map(u64::from);
        let bytes = sides.clone().try_fold(u64::from(self.format.bytes()?), u64::checked_mul);
        bytes.filter(|_| sides.min().is_some_and(|side| side > 0))
    }

    /// What is wrong with its shape, whatever the device; `None` if nothing is.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let [width, height, depth] = self.extent;
        let fits = match self.view {
            ImageView::D1 => (height, depth, self.layers) == (1, 1, 1),
            ImageView::D1Array => (height, depth) == (1, 1),
            ImageView::D2 => (depth, self.layers) == (1, 1),
            ImageView::D2Array => depth == 1,
            ImageView::D3 => self.layers == 1,
            // VUID-VkImageCreateInfo-flags-08865 and 08866.
            ImageView::Cube => (height, depth, self.layers) == (width, 1, 6),
            ImageView::CubeArray => (height, depth) == (width, 1) && self.layers.is_multiple_of(6),
        };
        match self.bytes() {
            None => Some("has no texels, or none of a known format"),
            Some(_) if !fits => Some("has another extent than its view can have"),
            Some(_) => None,
        }
    }
}

impl fmt::Display for ImageView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ImageView::D1 => "1D",
            ImageView::D1Array => "1D array",
            ImageView::D2 => "2D",
            ImageView::D2Array => "2D array",
            ImageView::D3 => "3D",
            ImageView::Cube => "cube",
            ImageView::CubeArray => "cube array",
        })
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [width, height, depth] = self.extent;
        write!(f, "{} {width}x{height}x{depth}, {} layers, {}", self.view, self.layers, self.format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_of_spirv_but_the_unknown_one_is_in_the_table() {
        let named = (0..64).filter(|&number| ImageFormat::from_u32(number).is_some());
        for number in named {
            let format = TexelFormat::of_spirv(number);
            assert_eq!(format.is_none(), number == ImageFormat::Unknown as u32, "{number}");
            assert!(format.is_none_or(|format| format.bytes().is_some_and(u32::is_power_of_two)), "{number}");
        }
        assert_eq!(TexelFormat::of_spirv(ImageFormat::R32ui as u32), Some(TexelFormat::R32_UINT));
        assert_eq!(TexelFormat::R32_UINT.to_string(), "VK_FORMAT_R32_UINT");
        assert_eq!(TexelFormat(-1).bytes(), None);
    }

    #[test]
    fn images_of_no_shape_are_told() {
        let image = |view, extent, layers| Image { view, extent, layers, ..Image::ONE };
        for (image, is_one) in [
            (Image::ONE, true),
            (image(ImageView::D1, [4, 1, 1], 1), true),
            (image(ImageView::D1, [4, 2, 1], 1), false),
            (image(ImageView::D1Array, [4, 1, 1], 3), true),
            (image(ImageView::D2, [4, 4, 1], 2), false),
            (image(ImageView::D3, [4, 4, 4], 1), true),
            (image(ImageView::Cube, [4, 4, 1], 6), true),
            (image(ImageView::Cube, [4, 5, 1], 6), false),
            (image(ImageView::CubeArray, [4, 4, 1], 8), false),
            (image(ImageView::D2, [0, 4, 1], 1), false),
            (image(ImageView::D3, [u32::MAX; 3], 1), false),
        ] {
            assert_eq!(image.problem().is_none(), is_one, "{image}");
        }
    }
}
