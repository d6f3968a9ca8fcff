//! What stands behind the descriptors and addresses of a module on a device: the buffers of a launch.
//!
//! Every descriptor is one buffer of the launch, an element of an array one each; the binding is the place of its set and binding among all
//! of them. Buffers at device addresses follow. Only the device knows its addresses: a number of 64 bits among the inputs that lies in a buffer
//! of the inputs, or just behind it, counts as an address in it, and gets the one of the device before the launch ([`Launch::placed`]). What
//! a module makes of the inputs is then computed with the same numbers ([`Bound::dispatch`]), so that nothing is wrong with a number which only
//! looks like an address.

use std::collections::BTreeSet;

use rspirv::spirv::Dim;
use tangle_files::words;
use tangle_interpreter::{Binding, BindingKind, Dispatch, ImageShape, Interface};
use tangle_runner::{
    Address, Buffer, BufferKind, Feature, FeatureSet, Image, ImageView, Init, Launch, Place, ReadBackMode, TexelFormat,
};

use crate::steps::Word;

/// The buffers of a launch, and what they are to the module.
pub(crate) struct Bound {
    /// What a module is run with, before anything is replaced.
    dispatch: Dispatch,
    /// The same for a device.
    launch: Launch,
    /// By buffer of the launch.
    parts: Vec<Part>,
    /// Features of arrays of descriptors.
    pub features: FeatureSet,
    /// Bindings of the launch to whose texels atomics are applied.
    pub texel_atomics: Vec<u32>,
}

/// What a buffer of the launch is to the module.
pub(crate) struct Part {
    /// Where it is, as a word of it is named.
    word: Word,
    /// Bytes of a texel and texels in each dimension, of an image.
    texels: Option<(u32, [u32; 3])>,
    /// Its number in the dispatch; none of a sampler.
    in_dispatch: Option<usize>,
}

/// Set and binding of all descriptors, in the order of their bindings on devices.
pub(crate) fn places(interface: &Interface) -> Vec<(u32, u32)> {
    let mut places: Vec<(u32, u32)> = interface.bindings.iter().map(|b| (b.set, b.binding)).collect();
    places.sort_unstable();
    places.dedup();
    places
}

impl Bound {
    /// Buffers for what a module is run with. `indexed` are the arrays of descriptors with an index that is no constant.
    ///
    /// # Errors
    /// What is not run on devices, in words.
    pub fn new(interface: &Interface, dispatch: Dispatch, indexed: &BTreeSet<(u32, u32)>) -> Result<Bound, String> {
        let launch = Launch {
            groups: dispatch.workgroups,
            push_constants: {
                let mut push = dispatch.push.clone();
                push.resize(push.len().next_multiple_of(4), 0);
                push
            },
            ..Launch::default()
        };
        let mut bound =
            Bound { dispatch, launch, parts: Vec::new(), features: FeatureSet::EMPTY, texel_atomics: Vec::new() };
        for (number, (set, binding)) in (0..).zip(places(interface)) {
            let variables: Vec<&Binding> =
                interface.bindings.iter().filter(|b| (b.set, b.binding) == (set, binding)).collect();
            let resource = bound.add_descriptors(number, &variables)?;
            let is_array = variables.iter().any(|variable| variable.is_array);
            if is_array && indexed.contains(&(set, binding)) {
                bound.features.extend(resource.indexed());
            }
        }
        bound.add_memory();
        Ok(bound)
    }

    /// The descriptors of one binding, which these variables have.
    fn add_descriptors(&mut self, number: u32, variables: &[&Binding]) -> Result<Resource, String> {
        let first = variables.first().ok_or("a binding of no variable")?;
        let (set, binding) = (first.set, first.binding);
        let whose = format!("set {set} binding {binding}");
        let resource = Resource::of(variables).ok_or_else(|| format!("{whose} is of several kinds at once"))?;
        let count = first.count;
        if variables.iter().any(|variable| variable.count != count) {
            return Err(format!("{whose} has arrays of several lengths"));
        }
        if resource.image().is_some_and(|image| image.atomic) {
            self.texel_atomics.push(number);
        }
        let read_only = variables.iter().all(|v| v.read_only || v.kind == BindingKind::Sampler);
        for element in 0..count {
            let found = |b: &tangle_interpreter::Buffer| (b.set, b.binding, b.element) == (set, binding, element);
            let in_dispatch = self.dispatch.buffers.iter().position(found);
            let whose = match count {
                1 => whose.clone(),
                _ => format!("{whose} element {element}"),
            };
            let (bytes, extent) = match in_dispatch.map(|at| &self.dispatch.buffers[at]) {
                Some(buffer) => (buffer.bytes.clone(), buffer.extent),
                None => (Vec::new(), [0; 3]),
            };
            let (kind, bytes) = resource.kind(bytes, extent).map_err(|problem| format!("{whose}: {problem}"))?;
            self.launch.buffers.push(Buffer {
                binding: number,
                kind,
                init: contents(bytes),
                read_back: if read_only || in_dispatch.is_none() { ReadBackMode::None } else { ReadBackMode::Whole },
            });
            self.parts.push(Part {
                word: Word { set, binding, element, ..Word::default() },
                texels: resource.image().map(|image| (image.texel, extent)),
                in_dispatch,
            });
        }
        Ok(resource)
    }

    /// The buffers at device addresses, and where their addresses are written.
    fn add_memory(&mut self) {
        let mut ranges = Vec::new();
        for (at, buffer) in self.dispatch.buffers.iter().enumerate() {
            let Some(address) = buffer.address else { continue };
            ranges.push(Range {
                first: address,
                bytes: buffer.bytes.len() as u64,
                buffer: self.launch.buffers.len() as u32,
            });
            // Vulkan has no empty buffers.
            let bytes = if buffer.bytes.is_empty() { vec![0; 4] } else { buffer.bytes.clone() };
            self.launch.buffers.push(Buffer {
                binding: 0,
                kind: BufferKind::Addressed,
                init: contents(bytes),
                read_back: ReadBackMode::Whole,
            });
            let word = Word { address: Some(address), ..Word::default() };
            self.parts.push(Part { word, texels: None, in_dispatch: Some(at) });
        }
        if ranges.is_empty() {
            return;
        }
        let mut addresses = found(Place::PushConstants, &words::from_bytes(&self.launch.push_constants), &ranges);
        for (index, buffer) in (0..).zip(&self.launch.buffers) {
            if let (Init::Data(words), None) = (&buffer.init, buffer.kind.image()) {
                addresses.extend(found(Place::Buffer(index), words, &ranges));
            }
        }
        self.launch.addresses = addresses;
    }

    /// The launch that a device gets, with all that is bound.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Addresses that buffers could have on a device, none of them among those of the inputs; empty without such buffers.
    pub fn other_addresses(&self) -> Vec<u64> {
        let count = self.launch.addressed().count() as u64;
        let is_free = |&first: &u64| {
            let end = first + (count << 32);
            self.dispatch.buffers.iter().all(|buffer| {
                let bytes = buffer.bytes.len() as u64;
                buffer.address.is_none_or(|address| address > end || address.saturating_add(bytes) < first)
            })
        };
        let first = (1..1 << 12).map(|number| number << 44).find(is_free).unwrap_or(1 << 44);
        // Not in the order of those of the inputs.
        (0..count).rev().map(|number| first + (number << 32)).collect()
    }

    /// What the module is run with where the device has its buffers at these addresses.
    pub fn dispatch(&self, addresses: &[u64]) -> Dispatch {
        let mut dispatch = self.dispatch.clone();
        if self.launch.addresses.is_empty() && addresses.is_empty() {
            return dispatch;
        }
        let placed = self.launch.placed(addresses);
        let bytes = dispatch.push.len();
        dispatch.push.copy_from_slice(&placed.push_constants[..bytes]);
        for (part, buffer) in self.parts.iter().zip(&placed.buffers) {
            let (Some(at), Init::Data(words), None) = (part.in_dispatch, &buffer.init, buffer.kind.image()) else {
                continue;
            };
            let bytes = dispatch.buffers[at].bytes.len();
            dispatch.buffers[at].bytes = words::to_bytes(words);
            dispatch.buffers[at].bytes.truncate(bytes);
        }
        for (index, &address) in self.launch.addressed().zip(addresses) {
            if let Some(at) = self.parts[index].in_dispatch {
                dispatch.buffers[at].address = Some(address);
            }
        }
        dispatch
    }

    /// The buffers that come back, each with its number in the dispatch.
    pub fn read_back(&self) -> impl Iterator<Item = (usize, &Part)> {
        let parts = self.parts.iter().zip(&self.launch.buffers);
        let parts = parts.filter(|(_, buffer)| buffer.read_back != ReadBackMode::None);
        parts.filter_map(|(part, _)| Some((part.in_dispatch?, part)))
    }

    /// The numbers among the inputs that count as addresses, in words.
    pub fn addresses(&self) -> Vec<String> {
        let place = |address: &Address| match address.place {
            Place::PushConstants => format!("push constants, byte {}", 4 * address.word),
            Place::Buffer(index) => match self.parts.get(index as usize) {
                Some(part) => part.word_at(4 * address.word as usize).place(),
                None => String::new(),
            },
        };
        self.launch.addresses.iter().map(place).collect()
    }
}

impl Part {
    /// What names the word at a byte offset.
    pub fn word_at(&self, offset: usize) -> Word {
        let texel = self.texels.map(|(bytes, [width, height, _])| {
            let number = (offset as u64 / u64::from(bytes.max(1))) as u32;
            let (width, height) = (width.max(1), height.max(1));
            [number % width, number / width % height, number / width / height]
        });
        Word { offset, texel, ..self.word }
    }
}

/// The contents as whole words: zeros fill the last one up.
fn contents(mut bytes: Vec<u8>) -> Init {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    Init::Data(words::from_bytes(&bytes))
}

/// A buffer at an address.
struct Range {
    first: u64,
    bytes: u64,
    /// Its number in the launch.
    buffer: u32,
}

/// The numbers of 64 bits among some words that are addresses in these buffers, or just behind one.
fn found(place: Place, words: &[u32], ranges: &[Range]) -> Vec<Address> {
    let mut addresses = Vec::new();
    let mut at = 0;
    while let Some(&[low, high]) = words.get(at..).and_then(<[u32]>::first_chunk) {
        let value = u64::from(high) << 32 | u64::from(low);
        let offset = |range: &Range| value.checked_sub(range.first);
        let inside = ranges.iter().find(|range| offset(range).is_some_and(|offset| offset < range.bytes));
        let behind = || ranges.iter().find(|range| offset(range) == Some(range.bytes));
        match inside.or_else(behind) {
            Some(range) => {
                let Range { first, buffer, .. } = *range;
                addresses.push(Address { place, word: at as u32, buffer, offset: value - first });
                at += 2;
            }
            None => at += 1,
        }
    }
    addresses
}

/// What the variables of a binding ask for.
enum Resource {
    Storage,
    Uniform,
    /// A storage image, or a texel buffer of the same kind.
    Storing(ImageShape),
    /// A sampled image, with a sampler or without.
    Sampled(ImageShape),
    Sampler,
}

impl Resource {
    /// `None` if they contradict each other. Some compilers make an image with its sampler of one variable for each.
    fn of(variables: &[&Binding]) -> Option<Resource> {
        let has_sampler = variables.iter().any(|variable| variable.kind == BindingKind::Sampler);
        let mut others = variables.iter().filter(|variable| variable.kind != BindingKind::Sampler);
        let Some(first) = others.next() else { return Some(Resource::Sampler) };
        let with = |image: ImageShape, other: ImageShape| {
            let same = ImageShape { with_sampler: image.with_sampler, atomic: image.atomic, ..other };
            (same == image).then_some(ImageShape {
                with_sampler: image.with_sampler || other.with_sampler,
                atomic: image.atomic || other.atomic,
                ..image
            })
        };
        let mut image = first.image;
        for other in others {
            if other.kind != first.kind {
                return None;
            }
            image = match (image, other.image) {
                (Some(image), Some(other)) => Some(with(image, other)?),
                _ => None,
            };
        }
        match (first.kind, image) {
            (BindingKind::StorageBuffer, _) if !has_sampler => Some(Resource::Storage),
            (BindingKind::UniformBuffer, _) if !has_sampler => Some(Resource::Uniform),
            (BindingKind::StorageImage, Some(image)) if !has_sampler => Some(Resource::Storing(image)),
            (BindingKind::SampledImage, Some(image)) => {
                Some(Resource::Sampled(ImageShape { with_sampler: image.with_sampler || has_sampler, ..image }))
            }
            _ => None,
        }
    }

    fn image(&self) -> Option<&ImageShape> {
        match self {
            Resource::Storing(image) | Resource::Sampled(image) => Some(image),
            Resource::Storage | Resource::Uniform | Resource::Sampler => None,
        }
    }

    /// The feature that an index into an array of them needs, if it is no constant.
    fn indexed(&self) -> Option<Feature> {
        let is_buffer = self.image().is_some_and(|image| image.dim == Dim::DimBuffer);
        match self {
            Resource::Storage => Some(Feature::StorageBufferArrayDynamicIndexing),
            Resource::Uniform => Some(Feature::UniformBufferArrayDynamicIndexing),
            Resource::Storing(_) if is_buffer => Some(Feature::StorageTexelBufferArrayDynamicIndexing),
            Resource::Storing(_) => Some(Feature::StorageImageArrayDynamicIndexing),
            Resource::Sampled(_) if is_buffer => Some(Feature::UniformTexelBufferArrayDynamicIndexing),
            Resource::Sampled(_) => Some(Feature::SampledImageArrayDynamicIndexing),
            // The feature is that of samplers, too.
            Resource::Sampler => Some(Feature::SampledImageArrayDynamicIndexing),
        }
    }

    /// What a descriptor with these contents is, and the contents as a device takes them.
    fn kind(&self, bytes: Vec<u8>, extent: [u32; 3]) -> Result<(BufferKind, Vec<u8>), String> {
        let kind = match self {
            Resource::Storage => BufferKind::Storage,
            Resource::Uniform => BufferKind::Uniform,
            Resource::Sampler => return Ok((BufferKind::Sampler, Vec::new())),
            Resource::Storing(image) | Resource::Sampled(image) => {
                let format = TexelFormat::of_spirv(image.format as u32)
                    .ok_or_else(|| format!("the format {:?} is not run on devices", image.format))?;
                let is_storing = matches!(self, Resource::Storing(_));
                match image.dim {
                    Dim::DimBuffer if is_storing => BufferKind::StorageTexels(format),
                    Dim::DimBuffer => BufferKind::UniformTexels(format),
                    _ => {
                        let shape = shape(image, format, extent)?;
                        let kind = match (is_storing, image.with_sampler) {
                            (true, _) => BufferKind::StorageImage(shape),
                            (false, true) => BufferKind::CombinedImageSampler(shape),
                            (false, false) => BufferKind::SampledImage(shape),
                        };
                        return Ok((kind, if image.dim == Dim::DimCube { six_faces(&bytes, &shape) } else { bytes }));
                    }
                }
            }
        };
        // A device knows of no less, and a shader can ask how many there are.
        match bytes.len() % 4 {
            0 => Ok((kind, bytes)),
            _ => Err(format!("a buffer of {} bytes is not run on devices: no whole words", bytes.len())),
        }
    }
}

/// The image of a type with an extent: width, height, and depth or layers.
fn shape(image: &ImageShape, format: TexelFormat, extent: [u32; 3]) -> Result<Image, String> {
    if image.multisampled {
        return Err("multisampled images are not run on devices".into());
    }
    let [width, height, depth] = extent;
    let too_many = || format!("an image of {width}x{height}x{depth} has more dimensions than its type");
    let (view, size, layers, rest) = match (image.dim, image.arrayed) {
        (Dim::Dim1D, false) => (ImageView::D1, [width, 1, 1], 1, [height, depth]),
        (Dim::Dim1D, true) => (ImageView::D1Array, [width, 1, 1], height, [1, depth]),
        (Dim::Dim2D, false) => (ImageView::D2, [width, height, 1], 1, [1, depth]),
        (Dim::Dim2D, true) => (ImageView::D2Array, [width, height, 1], depth, [1, 1]),
        (Dim::Dim3D, false) => (ImageView::D3, extent, 1, [1, 1]),
        (Dim::DimCube, false) => (ImageView::Cube, [width, height, 1], 6, [1, depth]),
        (Dim::DimCube, true) => {
            (ImageView::CubeArray, [width, height, 1], depth.checked_mul(6).ok_or_else(too_many)?, [1, 1])
        }
        _ => return Err(format!("images of {:?} are not run on devices", image.dim)),
    };
    if rest != [1, 1] {
        return Err(too_many());
    }
    if image.dim == Dim::DimCube && width != height {
        return Err(format!("the faces of a cube are {width}x{height}, and not square"));
    }
    Ok(Image { format, view, extent: size, layers })
}

/// The texels of every cube, six times: what a cube's faces hold can only be sampled, and what is sampled is open.
fn six_faces(bytes: &[u8], shape: &Image) -> Vec<u8> {
    let cubes = (shape.layers / 6).max(1) as usize;
    bytes.chunks((bytes.len() / cubes).max(1)).flat_map(|cube| cube.repeat(6)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number in a buffer, or just behind it, is an address, at every multiple of 4 bytes; of two buffers without a gap the second one's.
    #[test]
    fn numbers_that_are_addresses_are_found() {
        let range = |first, bytes, buffer| Range { first, bytes, buffer };
        let ranges = [range(0x7_0000_0000, 16, 3), range(0x7_0000_0010, 8, 4), range(0x9_0000_0000, 4, 5)];
        let words = [7, 7, 0x7_u32, 0x14, 7, 0x18, 7, 0x19, 7, 0, 9, 4];
        let found = found(Place::PushConstants, &words, &ranges);
        let shown: Vec<_> = found.iter().map(|a| (a.word, a.buffer, a.offset)).collect();
        // Not the numbers (7, 0x14), (0x19, 7) and (7, 0), lower half first.
        assert_eq!(shown, [(0, 3, 7), (3, 4, 4), (5, 4, 8), (9, 5, 0)]);
    }

    #[test]
    fn a_device_has_its_buffers_elsewhere() {
        let buffer = |address, bytes| tangle_interpreter::Buffer {
            address: Some(address),
            bytes: vec![1; bytes],
            ..tangle_interpreter::Buffer::default()
        };
        let interface = Interface {
            entry: "main".into(),
            stage: rspirv::spirv::ExecutionModel::GLCompute,
            workgroup_size: [1; 3],
            quads_of_ids: false,
            quad_derivatives: false,
            inputs: Vec::new(),
            tier: tangle_interpreter::Tier::Plain,
            bindings: Vec::new(),
            push_size: 8,
            spec_constants: Vec::new(),
        };
        // Where the first try would be, and without whole words.
        let taken = (1 << 44) + 0x100;
        let dispatch = Dispatch {
            workgroups: [1; 3],
            lane_map: tangle_interpreter::LaneMap::linear(1, 1),
            draw: tangle_interpreter::Draw::default(),
            buffers: vec![buffer(taken, 8), buffer(5 << 50, 3)],
            push: (taken + 4).to_le_bytes().to_vec(),
            limits: tangle_interpreter::Limits::default(),
        };
        let bound = Bound::new(&interface, dispatch, &BTreeSet::new()).unwrap();
        let [first, second] = bound.other_addresses()[..] else { panic!("two addresses") };
        assert!(second >> 44 == 2 && first > second, "{first:x} {second:x}");
        assert_eq!(bound.addresses(), ["push constants, byte 0"]);
        let placed = bound.dispatch(&[first, second]);
        assert_eq!(placed.push, (first + 4).to_le_bytes());
        assert_eq!(
            placed.buffers.iter().map(|b| (b.address, b.bytes.len())).collect::<Vec<_>>(),
            [(Some(first), 8), (Some(second), 3)]
        );
        assert!(bound.launch().buffers.iter().all(|buffer| buffer.kind == BufferKind::Addressed));
    }
}
