//! One module, one dispatch.

use std::collections::BTreeMap;

use tangle_interpreter::{
    Binding, BindingKind, Buffer, Dispatch, Error, Interface, LaneMap, Limits, Module, Outcome, Pipeline,
    PipelineOptions, Tier,
};

/// What a module is run with. What is not given is made: [`Inputs::buffers`].
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs {
    /// Contents of buffers by set and binding. A storage or uniform buffer that is not named is as large as its type, with [`DEFAULT_ITEMS`]
    /// elements where that ends in a run-time array, and all 0.
    pub buffers: BTreeMap<(u32, u32), Vec<u8>>,
    /// Width, height, and depth or layers of images by set and binding; [`DEFAULT_SIDE`] in each dimension without. Their texels are those of
    /// the buffer of this name: row by row, slice by slice.
    pub images: BTreeMap<(u32, u32), [u32; 3]>,
    /// Contents of buffers at device addresses, which no descriptor names.
    pub memory: BTreeMap<u64, Vec<u8>>,
    /// Push constants; zeros behind what is given.
    pub push: Vec<u8>,
    /// Specialisation constants: bits by `SpecId`.
    pub specialization: BTreeMap<u32, u64>,
    /// Workgroups in x, y, z.
    pub workgroups: [u32; 3],
    /// Lanes of a subgroup; invocations are placed in the order of their local indices.
    pub subgroup_size: u32,
    /// Name of the entry point, if there are several.
    pub entry: Option<String>,
    /// The convergence rules to judge by, instead of the module's own.
    pub tier: Option<Tier>,
    /// Where to give up.
    pub limits: Limits,
}

/// Elements of a run-time array in a buffer that nobody gave contents for.
pub const DEFAULT_ITEMS: u64 = 1024;

/// Texels in each dimension of an image that nobody gave an extent for.
pub const DEFAULT_SIDE: u32 = 64;

/// The descriptor set of buffers without a descriptor: more than any device has. Their bindings count from 0 by address.
pub const NO_SET: u32 = u32::MAX;

/// Bytes of an image at most.
const MAX_IMAGE: u64 = 256 << 20;

impl Default for Inputs {
    fn default() -> Inputs {
        Inputs {
            buffers: BTreeMap::new(),
            images: BTreeMap::new(),
            memory: BTreeMap::new(),
            push: Vec::new(),
            specialization: BTreeMap::new(),
            workgroups: [1; 3],
            subgroup_size: 32,
            entry: None,
            tier: None,
            limits: Limits::default(),
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
    let options = PipelineOptions {
        entry: inputs.entry.clone(),
        specialization: inputs.specialization.clone(),
        tier: inputs.tier,
    };
    let pipeline = Pipeline::new(&Module::parse(words)?, &options)?;
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
    let invocations = interface.workgroup_size.iter().product();
    let mut push = inputs.push.clone();
    push.resize(push.len().max(interface.push_size as usize), 0);
    Ok(Dispatch {
        workgroups: inputs.workgroups,
        lane_map: LaneMap::linear(invocations, inputs.subgroup_size),
        buffers: buffers?.into_iter().flatten().chain(memory).collect(),
        push,
        limits: inputs.limits,
    })
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
    let mut bytes = inputs.buffers.get(&place).cloned().unwrap_or_else(|| vec![0; size as usize]);
    if binding.image.is_some() {
        bytes.resize(size as usize, 0);
    }
    let (set, binding, count) = (binding.set, binding.binding, binding.count.unwrap_or(1));
    let buffer = |element| Buffer { set, binding, element, bytes: bytes.clone(), extent, ..Buffer::default() };
    Ok((0..count).map(buffer).collect())
}
