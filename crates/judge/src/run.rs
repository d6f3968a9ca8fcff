//! One module, one dispatch.

use std::collections::BTreeMap;

use tangle_interpreter::{
    Binding, BindingKind, Buffer, Dispatch, Draw, Error, Interface, LaneMap, Limits, Module, Outcome, Pipeline,
    PipelineOptions, Tier,
};

/// What a module is run with. What is not given is made: [`Inputs::buffers`].
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs {
    /// Contents of buffers by set and binding. A storage or uniform buffer that is not named is as large as its type, with [`DEFAULT_ITEMS`]
    /// elements where that ends in a run-time array, and all 0.
    pub buffers: BTreeMap<(u32, u32), Vec<u8>>,
    /// Contents of single elements of arrays of descriptors, by set, binding and element; the others are as [`Inputs::buffers`] says.
    pub elements: BTreeMap<(u32, u32, u32), Vec<u8>>,
    /// Width, height, and depth or layers of images by set and binding; [`DEFAULT_SIDE`] in each dimension without. Their texels are those of
    /// the buffer of this name: row by row, slice by slice.
    pub images: BTreeMap<(u32, u32), [u32; 3]>,
    /// Contents of buffers at device addresses, which no descriptor names.
    pub memory: BTreeMap<u64, Vec<u8>>,
    /// Push constants; zeros behind what is given.
    pub push: Vec<u8>,
    /// Specialisation constants: bits by `SpecId`.
    pub specialization: BTreeMap<u32, u64>,
    /// Numbers of descriptors of run-time arrays by set and binding; without, as many as [`Inputs::elements`] names.
    pub descriptors: BTreeMap<(u32, u32), u32>,
    /// Workgroups in x, y, z.
    pub workgroups: [u32; 3],
    /// Width and height of the framebuffer that a fragment shader is drawn into; before rasterisation invocations of an item, and items.
    pub draw: [u32; 2],
    /// The words of its flat inputs by their location.
    pub flat: BTreeMap<u32, [u32; 4]>,
    /// Lanes of a subgroup; invocations are placed in the order of their local indices.
    pub subgroup_size: u32,
    /// Name of the entry point, if there are several.
    pub entry: Option<String>,
    /// The convergence rules to judge by, instead of the module's own.
    pub tier: Option<Tier>,
    /// Stores of one value by several invocations are no data race ([`PipelineOptions::equal_stores`]).
    pub equal_stores: bool,
    /// Where to give up.
    pub limits: Limits,
}

/// Elements of a run-time array in a buffer that nobody gave contents for.
const DEFAULT_ITEMS: u64 = 1024;

/// Texels in each dimension of an image that nobody gave an extent for.
const DEFAULT_SIDE: u32 = 64;

/// The descriptor set of buffers without a descriptor: more than any device has. Their bindings count from 0 by address.
const NO_SET: u32 = u32::MAX;

/// Bytes of an image at most.
const MAX_IMAGE: u64 = 256 << 20;

impl Default for Inputs {
    fn default() -> Inputs {
        Inputs {
            buffers: BTreeMap::new(),
            elements: BTreeMap::new(),
            images: BTreeMap::new(),
            memory: BTreeMap::new(),
            push: Vec::new(),
            specialization: BTreeMap::new(),
            descriptors: BTreeMap::new(),
            workgroups: [1; 3],
            draw: [8, 8],
            flat: BTreeMap::new(),
            subgroup_size: 32,
            entry: None,
            tier: None,
            equal_stores: false,
            limits: Limits::default(),
        }
    }
}

impl Inputs {
    /// How a module is decoded for a run with these.
    pub fn pipeline_options(&self) -> PipelineOptions {
        let mut descriptors = self.descriptors.clone();
        for &(set, binding, element) in self.elements.keys() {
            let count = descriptors.entry((set, binding)).or_default();
            *count = element.saturating_add(1).max(*count);
        }
        PipelineOptions {
            entry: self.entry.clone(),
            specialization: self.specialization.clone(),
            descriptors,
            tier: self.tier,
            equal_stores: self.equal_stores,
            signed_remainders: false,
        }
    }
}

/// A module that was run.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What the module asks for.
    pub interface: Interface,
    /// The tier that it was judged by.
    pub tier: Tier,
    /// What it must leave.
    pub outcome: Outcome,
}

/// Runs a module.
///
/// # Errors
/// If the interpreter does not support it, or the inputs do not fit.
pub fn judge(words: &[u32], inputs: &Inputs) -> Result<Judged, Error> {
    let pipeline = Pipeline::new(&Module::parse(words)?, &inputs.pipeline_options())?;
    let interface = pipeline.interface().clone();
    let outcome = pipeline.run(&dispatch(&interface, inputs)?)?;
    let tier = inputs.tier.unwrap_or(interface.tier);
    Ok(Judged { interface, tier, outcome })
}

/// The dispatch of a module with these inputs.
///
/// # Errors
/// If a buffer or an extent is given for a binding that the module does not have, or that is no image, or if buffers at addresses overlap.
pub fn dispatch(interface: &Interface, inputs: &Inputs) -> Result<Dispatch, Error> {
    let has = |key: &(u32, u32)| interface.bindings.iter().any(|binding| (binding.set, binding.binding) == *key);
    if let Some((set, binding)) = inputs.buffers.keys().find(|key| !has(key)) {
        return Err(Error::Dispatch(format!("the module has no binding {binding} in set {set}")));
    }
    let elements = |key: &(u32, u32, u32)| {
        let binding = interface.bindings.iter().find(|b| (b.set, b.binding) == (key.0, key.1));
        binding.map_or(0, |binding| binding.count)
    };
    if let Some(&(set, binding, element)) = inputs.elements.keys().find(|key| key.2 >= elements(key)) {
        return Err(Error::Dispatch(format!("the module has no element {element} of binding {binding} in set {set}")));
    }
    let is_image =
        |key: &(u32, u32)| interface.bindings.iter().any(|b| (b.set, b.binding) == *key && b.image.is_some());
    if let Some((set, binding)) = inputs.images.keys().find(|key| !is_image(key)) {
        return Err(Error::Dispatch(format!("the module has no image {binding} in set {set}")));
    }
    let ends = inputs.memory.iter().map(|(address, bytes)| address.checked_add(bytes.len() as u64));
    let next = inputs.memory.keys().skip(1).map(|&address| Some(address)).chain([None]);
    for (end, next) in ends.zip(next) {
        let Some(end) = end else { return Err(Error::Dispatch("a buffer ends behind the last address".into())) };
        if let Some(next) = next.filter(|&next| next < end) {
            return Err(Error::Dispatch(format!(
                "the buffer at {next:#x} begins before the one before it ends, at {end:#x}"
            )));
        }
    }
    let memory = inputs.memory.iter().zip(0..).map(|((&address, bytes), binding)| Buffer {
        set: NO_SET,
        binding,
        address: Some(address),
        bytes: bytes.clone(),
        ..Buffer::default()
    });
    let buffers: Result<Vec<_>, _> = interface.bindings.iter().map(|binding| buffers(binding, inputs)).collect();
    let mut push = inputs.push.clone();
    push.resize(push.len().max(interface.push_size as usize), 0);
    let draw = Draw::of(interface, inputs.draw, &inputs.flat);
    let lane_map = match interface.is_of_draw() {
        true => draw.linear(inputs.subgroup_size),
        false => LaneMap::of(interface, inputs.subgroup_size),
    };
    Ok(Dispatch {
        workgroups: if interface.is_of_draw() { [1; 3] } else { inputs.workgroups },
        lane_map,
        draw,
        buffers: distinct(buffers?.into_iter().flatten()).chain(memory).collect(),
        push,
        limits: inputs.limits,
    })
}

/// One buffer for each descriptor, also where several variables have it: the largest.
fn distinct(buffers: impl Iterator<Item = Buffer>) -> impl Iterator<Item = Buffer> {
    let (mut kept, mut places) = (Vec::<Buffer>::new(), BTreeMap::new());
    for buffer in buffers {
        let at = *places.entry((buffer.set, buffer.binding, buffer.element)).or_insert(kept.len());
        match kept.get_mut(at) {
            Some(known) if known.bytes.len() < buffer.bytes.len() => *known = buffer,
            Some(_) => {}
            None => kept.push(buffer),
        }
    }
    kept.into_iter()
}

/// The buffers of a binding: one for each element of an array of descriptors.
fn buffers(binding: &Binding, inputs: &Inputs) -> Result<Vec<Buffer>, Error> {
    if matches!(binding.kind, BindingKind::Other | BindingKind::Sampler) {
        return Ok(Vec::new());
    }
    let place = (binding.set, binding.binding);
    let mut size = binding.size + binding.element.unwrap_or(0) * DEFAULT_ITEMS;
    let mut extent = [0; 3];
    if let Some(image) = binding.image {
        let side = |at| if at < image.dimensions { DEFAULT_SIDE } else { 1 };
        extent = inputs.images.get(&place).copied().unwrap_or_else(|| [side(0), side(1), side(2)]);
        size = extent.iter().fold(u64::from(image.texel), |size, &side| size.saturating_mul(side.into()));
        if size > MAX_IMAGE {
            return Err(Error::Dispatch(format!("an image of {size} bytes, {MAX_IMAGE} are allowed")));
        }
    }
    let is_image = binding.image.is_some();
    let (set, binding, count) = (binding.set, binding.binding, binding.count);
    let buffer = |element| {
        let given = inputs.elements.get(&(set, binding, element)).or_else(|| inputs.buffers.get(&place));
        let mut bytes = given.cloned().unwrap_or_else(|| vec![0; size as usize]);
        if is_image {
            bytes.resize(size as usize, 0);
        }
        Buffer { set, binding, element, bytes, extent, ..Buffer::default() }
    };
    Ok((0..count).map(buffer).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amber::{Language, Shader};
    use crate::source::module;
    use tangle_program::case::Stage;

    fn words(source: &str) -> Vec<u32> {
        let (target, source) = ("spv1.5".into(), source.into());
        module("test", &Shader { language: Language::Glsl(Stage::Compute), target, source, line: 1 })
            .unwrap_or_else(|e| panic!("{e}"))
    }

    /// Pointers in the push constants lead to buffers that no descriptor names; a scalar layout is valid.
    #[test]
    fn buffers_at_device_addresses() {
        let words = words(
            "#version 460
            #extension GL_EXT_buffer_reference : require
            #extension GL_EXT_scalar_block_layout : require
            layout(buffer_reference, scalar) buffer Words { uint first; uvec3 x; };
            layout(push_constant) uniform Push { Words from; Words to; };
            layout(local_size_x = 3) in;
            void main() { to.x[gl_LocalInvocationIndex] = from.x[gl_LocalInvocationIndex] * 2u; }",
        );
        let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let inputs = Inputs {
            memory: BTreeMap::from([(0x2_0000, bytes(&[0, 3, 4, 5])), (0x1_0000, bytes(&[9, 9, 9, 9]))]),
            push: bytes(&[0x2_0000, 0, 0x1_0000, 0]),
            ..Inputs::default()
        };
        let outcome = judge(&words, &inputs).unwrap().outcome;
        let found: Vec<_> = (0..4).map(|at| outcome.buffers[0].word(4 * at)).collect();
        assert_eq!(found, [Some(9), Some(6), Some(8), Some(10)]);
        assert_eq!(outcome.buffers[0].address, Some(0x1_0000));
        let inputs = Inputs { push: bytes(&[0x2_0004, 0, 0x1_0000, 0]), ..inputs };
        assert!(matches!(judge(&words, &inputs).unwrap().outcome.end, tangle_interpreter::End::Undefined(_)));
        for (second, says) in [(0x1_000F, "begins before"), (u64::MAX, "behind the last address")] {
            let memory = BTreeMap::from([(0x1_0000, vec![0; 16]), (second, vec![0; 16])]);
            let error = judge(&words, &Inputs { memory, ..inputs.clone() }).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    /// A run-time array of descriptors has as many as somebody says, and what is behind them is out of bounds.
    #[test]
    fn run_time_arrays_of_descriptors() {
        let words = words(
            "#version 460
            #extension GL_EXT_nonuniform_qualifier : require
            layout(local_size_x = 4) in;
            layout(set = 1, binding = 2) buffer B { uint x; } b[];
            void main() { b[nonuniformEXT(gl_LocalInvocationIndex)].x += 1u; }",
        );
        let place = (1, 2);
        let error = judge(&words, &Inputs::default()).unwrap_err().to_string();
        assert!(error.contains("set 1 binding 2") && error.contains("--descriptors 1.2=N"), "{error}");
        let run = |inputs: Inputs| {
            let outcome = judge(&words, &inputs).unwrap().outcome;
            match outcome.end {
                tangle_interpreter::End::Completed => {
                    Ok(outcome.buffers.iter().map(|buffer| (buffer.element, buffer.word(0))).collect::<Vec<_>>())
                }
                tangle_interpreter::End::Undefined(what) => Err(what.to_string()),
            }
        };
        let of = |count| Inputs { descriptors: BTreeMap::from([(place, count)]), ..Inputs::default() };
        let left: Vec<_> = (0..5).map(|element| (element, Some(u32::from(element < 4)))).collect();
        assert_eq!(run(of(5)).unwrap(), left);
        let element = Inputs { elements: BTreeMap::from([((1, 2, 3), vec![5, 0, 0, 0])]), ..of(2) };
        assert_eq!(run(element).unwrap(), [(0, Some(1)), (1, Some(1)), (2, Some(1)), (3, Some(6))]);
        let behind = run(of(3)).unwrap_err();
        assert!(behind.starts_with("access out of bounds"), "{behind}");
    }

    /// Stores of one value by several invocations pass if they may; whatever else clashes with one of them is a race all the same.
    #[test]
    fn equal_stores() {
        let run = |body: &str, equal_stores| {
            let source = format!(
                "#version 460
                layout(local_size_x = 8) in;
                layout(binding = 0) buffer B {{ uint x[8]; }};
                shared uint s;
                void main() {{ uint i = gl_LocalInvocationIndex; {body} }}"
            );
            let inputs = Inputs { equal_stores, subgroup_size: 4, workgroups: [2, 1, 1], ..Inputs::default() };
            let outcome = judge(&words(&source), &inputs).unwrap().outcome;
            let is_race = matches!(&outcome.end, tangle_interpreter::End::Undefined(what) if what.to_string().contains("data race"));
            (!is_race).then(|| outcome.buffers[0].word(0))
        };
        for (body, left) in [
            ("x[0] = 7u;", Some(Some(7))),
            ("s = 7u; barrier(); if (i == 3u) x[0] = s;", Some(Some(7))),
            ("s = 7u; barrier(); s = 8u; barrier(); x[0] = s;", Some(Some(8))),
            ("x[0] = i;", None),
            ("x[0] = 7u; if (i == 0u) x[0] = 8u;", None),
            ("x[0] = 7u; if (i == 7u) x[0] = 8u;", None),
            ("x[0] = 7u; x[1] = x[0];", None),
            ("x[0] = 7u; atomicMax(x[0], 7u);", None),
            ("atomicMax(x[0], 7u); x[0] = 7u;", None),
            ("s = gl_WorkGroupID.x; barrier(); x[0] = s;", None),
        ] {
            assert_eq!(run(body, false), None, "{body}");
            assert_eq!(run(body, true), left, "{body}");
        }
    }

    /// Two variables with one binding are one buffer, and it is reported once.
    #[test]
    fn variables_with_one_binding() {
        let words = words(
            "#version 460
            layout(local_size_x = 1) in;
            layout(binding = 0) buffer A { uint x; } a;
            layout(binding = 0) buffer B { uvec2 y; } b;
            void main() { a.x = 3u; b.y.y = 4u; }",
        );
        let outcome = judge(&words, &Inputs::default()).unwrap().outcome;
        assert_eq!(outcome.buffers.len(), 1);
        assert_eq!([0, 4].map(|at| outcome.buffers[0].word(at)), [Some(3), Some(4)]);
    }

    /// Each element of an array of descriptors has its own contents, the others those of the binding.
    #[test]
    fn elements_of_arrays() {
        let words = words(
            "#version 460
            layout(local_size_x = 1) in;
            layout(binding = 2) buffer B { uint x; } b[3];
            layout(binding = 0) buffer To { uint to[3]; };
            void main() { to[0] = b[0].x; to[1] = b[1].x; to[2] = b[2].x; }",
        );
        let inputs = Inputs {
            buffers: BTreeMap::from([((0, 2), vec![5, 0, 0, 0])]),
            elements: BTreeMap::from([((0, 2, 1), vec![6, 0, 0, 0])]),
            ..Inputs::default()
        };
        let outcome = judge(&words, &inputs).unwrap().outcome;
        let to = outcome.buffers.iter().find(|buffer| buffer.binding == 0).unwrap();
        assert_eq!([0, 4, 8].map(|at| to.word(at)), [Some(5), Some(6), Some(5)]);
        let elements = BTreeMap::from([((0, 2, 3), vec![0; 4])]);
        let error = judge(&words, &Inputs { elements, ..inputs }).unwrap_err().to_string();
        assert!(error.contains("no element 3"), "{error}");
    }

    /// Nothing has to be given for samplers and images.
    #[test]
    fn images_without_inputs() {
        let module = words(
            "#version 460
            layout(binding = 0) uniform sampler s;
            layout(binding = 1) uniform texture2D t;
            layout(binding = 2, rgba8) uniform image2D to;
            layout(local_size_x = 8) in;
            void main() {
                ivec2 at = ivec2(gl_LocalInvocationIndex, 0);
                imageStore(to, at, textureLod(sampler2D(t, s), vec2(0.5), 0.0));
                imageStore(to, at + ivec2(0, 1), vec4(1.0));
            }",
        );
        let outcome = judge(&module, &Inputs::default()).unwrap().outcome;
        let image = outcome.buffers.iter().find(|buffer| buffer.binding == 2).unwrap();
        let row = 4 * DEFAULT_SIDE as usize;
        assert_eq!([0, row, 2 * row].map(|at| image.word(at)), [None, Some(0xFFFF_FFFF), Some(0)]);
        let array = "#version 460\nlayout(local_size_x = 1) in; layout(constant_id = 7) const uint n = 1u;
            layout(binding = 0) buffer B { uint x; }; void main() { uint a[n]; a[x & 1u] = x; x = a[0]; }";
        let inputs = Inputs { specialization: BTreeMap::from([(7, 0)]), ..Inputs::default() };
        let error = judge(&words(array), &inputs).unwrap_err().to_string();
        assert!(error.contains("its length is a specialisation constant"), "{error}");
    }
}
