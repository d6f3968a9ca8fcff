//! Memory: bytes with their states. `order.rs`: who accessed them last, and what orders that; `sync.rs`: what atomics and fences may
//! order; `aliases.rs`: several ways to one buffer; `access.rs`, `atomic.rs`: the instructions; `sparse.rs`: how the
//! states are stored.
//!
//! An access races with another one of another invocation to the same location if one of them writes, not both are atomic, and neither is ordered before
//! the other (Vulkan memory model, "Data Race"). What orders accesses of different invocations here: control barriers whose semantics acquire and release
//! the storage class. In modules with atomics and with atomics or fences that acquire or release, a chain of these may order more: `sync.rs`.

mod access;
mod aliases;
mod atomic;
mod order;
mod sparse;
mod sync;

use rustc_hash::{FxHashMap, FxHashSet};

use super::reasons::{NOWHERE, Reasons};
use super::stop::Stop;
use crate::code::*;
use crate::dispatch::Dispatch;
use crate::outcome::{Error, Why};
use aliases::{ADDRESS, Aliases, Through};
pub(crate) use sparse::Budget;
use sparse::{PAGE, Sparse};
use sync::Sync;

/// Scalars that are loaded or stored in one step.
pub(super) const SCALARS_PER_STEP: u64 = 256;
const MIXED: u8 = u8::MAX;
/// Several invocations: with this bit, the index of a list.
const MANY: u32 = 1 << 31;

/// Who accessed a granule last. Invocations are counted from 1 over the whole dispatch.
#[derive(Clone, Copy, Debug, Default)]
struct Shadow {
    writer: u32,
    written: u32,
    reader: u32,
    read: u32,
    /// The last atomic; several, as of readers, where nothing orders them.
    atomic: u32,
    acted: u32,
    /// What the atomics since then were: 0 none, 1 loads, else an operator; [`MIXED`].
    kind: u8,
    /// How far the last write reaches.
    reach: Reach,
    /// The scope of the atomics since then.
    scope: Reach,
    /// [`PRIVATE_READ`] and the others.
    flags: u8,
}

/// Some read since the last write was private.
const PRIVATE_READ: u8 = 1;
/// Whose atomics since the last write had which scope is not known.
const UNKNOWN_SCOPES: u8 = 2;
/// Some of the atomics since the last write wrote.
const ATOMIC_WROTE: u8 = 4;
/// Others executed atomics since the last write than those that are known by name.
const OTHERS_ACTED: u8 = 8;
/// A write before the last one is not ordered with it.
const UNORDERED_WRITES: u8 = 16;

/// What a barrier has ordered, for one kind of memory.
#[derive(Clone, Debug, Default)]
struct Order {
    /// Accesses up to this time are ordered before everything that follows.
    floor: u32,
    /// By invocation: so are its accesses up to this time, which it released before a barrier behind which all acquired. Empty where none did.
    until: Vec<u32>,
    /// The same before all acquire.
    handed: Vec<u32>,
    now: Vec<u32>,
    /// By invocation and lane of its subgroup: the time up to which that lane's accesses are ordered before it. Empty before the first subgroup
    /// barrier.
    seen: Vec<u32>,
    /// The same before it acquires.
    offered: Vec<u32>,
    /// By invocation: the time of its last release to its subgroup, and to its workgroup, or 0.
    released: [Vec<u32>; 2],
    /// As `seen`: what it had seen at that time.
    passed_on: [Vec<u32>; 2],
    lanes: usize,
}

/// The memory of a variable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bytes {
    pub bytes: Vec<u8>,
    /// Taint of every byte.
    taints: Sparse<u32>,
    /// Who accessed it, for each granule.
    shadow: Sparse<Shadow>,
    granules: usize,
    pub read_only: bool,
    /// Which kind of memory it is: index in [`Orders`].
    domain: usize,
    /// Of an image: its size in texels, as in [`Buffer::extent`](crate::dispatch::Buffer::extent).
    pub extent: [u32; 3],
    /// The variable, or one of them; none for a buffer that only addresses point to.
    object: Option<u32>,
    /// There are other ways to it: [`Memory::aliases`].
    several_ways: bool,
}

impl Bytes {
    /// The greatest taint of some bytes.
    #[inline]
    fn taint(&self, at: usize, size: usize) -> u32 {
        let within = at % PAGE;
        if within + size <= PAGE {
            return match self.taints.pages.get(at / PAGE) {
                Some(Some(page)) => page[within..within + size].iter().copied().max().unwrap_or(0),
                _ => self.taints.fill,
            };
        }
        (at..at + size).map(|byte| self.taints.get(byte)).max().unwrap_or(0)
    }

    /// What a function makes of the taint of every byte; none if that is 0 for all.
    pub fn states(&self, mut state: impl FnMut(u32) -> u32) -> Vec<u32> {
        let fill = state(self.taints.fill);
        let is_clear = |page: &[u32]| page.iter().fold(0, |any, taint| any | taint) == 0;
        if fill == 0 && self.taints.pages().all(|(_, page)| is_clear(page)) {
            return Vec::new();
        }
        let mut states = vec![fill; self.bytes.len()];
        let mut any = fill != 0;
        for (number, page) in self.taints.pages() {
            for (to, &taint) in states[number * PAGE..].iter_mut().zip(page) {
                *to = if taint == 0 { 0 } else { state(taint) };
                any |= *to != 0;
            }
        }
        if any { states } else { Vec::new() }
    }
}

/// All memory of a dispatch, and the clocks of the workgroup that runs.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub objects: Vec<Bytes>,
    /// By variable: its memory, of [`Memory::objects`]. Several variables, or descriptors, may have one buffer.
    of_variable: Vec<u32>,
    /// By buffer of the dispatch, if the module can reach it.
    pub of_buffer: Vec<Option<u32>>,
    /// First address, last address, object.
    addresses: Vec<(u64, u64, u32)>,
    granule: u64,
    orders: [Order; 3],
    /// Control barriers of the workgroup that ordered each kind of memory.
    pub barriers: [u32; 3],
    /// How many there were when the first invocation was lost.
    pub lost_at: Option<[u32; 3]>,
    /// Lists of invocations, ascending, and when they last accessed something.
    several: Vec<Vec<(u32, u32)>>,
    /// Lists that nothing refers to.
    free: Vec<u32>,
    pub budget: Budget,
    /// Invocations of one workgroup.
    n: u32,
    workgroup: u32,
    /// Who released and acquired; none where nothing does.
    sync: Option<Sync>,
    /// The instruction that accesses something just now.
    pub place: u32,
    /// What it accesses that through.
    through: Through,
    /// What was accessed through several ways; none where there is only one to everything.
    aliases: Option<Aliases>,
    /// [`PipelineOptions::equal_stores`](crate::PipelineOptions), and by object and granule: who else has stored what is there, and when.
    equal: Option<FxHashMap<(u32, usize), Vec<(u32, u32)>>>,
    /// How many invocations came to the last barrier of the workgroup.
    waited: usize,
    /// [`Code::made_available`](crate::code::Code), `made_visible`.
    made: [Orders; 2],
    /// New locations (object, granule) of which a read is open, since a write behind it may already be seen, and why that is.
    pub hidden: FxHashMap<(u32, u32), Why>,
    /// New contended locations: what the run assumed of an atomic's order was wrong.
    pub contended: FxHashSet<(u32, u32)>,
    /// Atomics and volatile stores at an open address: workgroup, object, and how many control barriers had ordered that kind of memory.
    pub unordered_anywhere: FxHashSet<(u32, u32, u32)>,
    /// [`Planted::AtomicsOfOthersForgotten`](crate::faults::Planted).
    pub only_last_atomic: bool,
    /// [`Planted::PrivateIsShared`](crate::faults::Planted).
    pub private_is_shared: bool,
    /// [`Planted::BarrierAcquires`](crate::faults::Planted).
    pub barriers_acquire: bool,
    /// [`Planted::ScopesIgnored`](crate::faults::Planted).
    pub scopes_ignored: bool,
    /// [`Planted::AliasesAssumed`](crate::faults::Planted).
    pub aliases_assumed: bool,
}

impl Memory {
    /// The memory of a dispatch. `spare`: bytes for what is to be known of the contents.
    pub fn new(code: &Code, dispatch: &Dispatch, n: u32, spare: u64) -> Result<Memory, Error> {
        let mut memory = Memory {
            budget: Budget(spare),
            granule: u64::from(code.granule.max(1)),
            n,
            sync: Sync::of(code),
            made: [code.made_available, code.made_visible],
            equal: code.equal_stores.then(FxHashMap::default),
            ..Memory::default()
        };
        let whole = |at: usize| dispatch.buffers[at].same_as.filter(|&other| other < at).unwrap_or(at);
        memory.of_buffer = vec![None; dispatch.buffers.len()];
        for (index, object) in code.objects.iter().enumerate() {
            let made = Bytes { read_only: object.read_only, object: Some(index as u32), domain: 1, ..Bytes::default() };
            let bytes = match object.kind {
                ObjectKind::Nothing => made,
                ObjectKind::Workgroup(size) => Bytes { domain: 0, bytes: vec![0; size as usize], ..made },
                ObjectKind::Push => {
                    if (dispatch.push.len() as u64) < object.size {
                        let (has, needs) = (dispatch.push.len(), object.size);
                        return Err(Error::Dispatch(format!(
                            "push constants of {has} bytes, the module reads {needs}"
                        )));
                    }
                    Bytes { bytes: dispatch.push.clone(), ..made }
                }
                ObjectKind::Buffer { set, binding, element, texel } => {
                    let key = (set, binding, element);
                    let found = dispatch.buffers.iter().position(|b| (b.set, b.binding, b.element) == key);
                    let Some(at) = found.map(whole) else {
                        return Err(Error::Dispatch(format!("there is no buffer {set}.{binding} (element {element})")));
                    };
                    if let Some(known) = memory.of_buffer[at] {
                        let known_object = &mut memory.objects[known as usize];
                        known_object.read_only &= object.read_only;
                        known_object.several_ways = true;
                        memory.of_variable.push(known);
                        continue;
                    }
                    memory.of_buffer[at] = Some(memory.objects.len() as u32);
                    let (bytes, extent) = (dispatch.buffers[at].bytes.clone(), dispatch.buffers[at].extent);
                    let needs = extent.iter().fold(u64::from(texel), |n, &side| n.saturating_mul(u64::from(side)));
                    if needs > bytes.len() as u64 {
                        let has = bytes.len();
                        return Err(Error::Dispatch(format!("image {set}.{binding} of {has} bytes needs {needs}")));
                    }
                    Bytes { bytes, domain: if texel > 0 { 2 } else { 1 }, extent, ..made }
                }
            };
            memory.of_variable.push(memory.objects.len() as u32);
            memory.objects.push(bytes);
        }
        for (at, buffer) in dispatch.buffers.iter().enumerate() {
            let Some(address) = buffer.address.filter(|_| whole(at) == at) else { continue };
            let object = match memory.of_buffer[at] {
                Some(object) => object,
                // One that only addresses point to.
                None => {
                    memory.objects.push(Bytes { bytes: buffer.bytes.clone(), domain: 1, ..Bytes::default() });
                    memory.objects.len() as u32 - 1
                }
            };
            memory.of_buffer[at] = Some(object);
            let addressed = &mut memory.objects[object as usize];
            addressed.read_only = false;
            addressed.several_ways |= addressed.object.is_some();
            memory.addresses.push((address, address.saturating_add(buffer.bytes.len() as u64), object));
        }
        for at in 0..dispatch.buffers.len() {
            memory.of_buffer[at] = memory.of_buffer[whole(at)];
        }
        if memory.objects.iter().any(|object| object.several_ways && !object.read_only) {
            memory.aliases = Some(Aliases::new(code));
        }
        for object in &mut memory.objects {
            object.granules = (object.bytes.len() as u64).div_ceil(memory.granule) as usize;
        }
        Ok(memory)
    }

    /// A workgroup begins: its memory is not initialised, and nothing is ordered yet.
    pub fn begin_workgroup(
        &mut self,
        code: &Code,
        workgroup: u32,
        size: usize,
        reasons: &mut Reasons,
    ) -> Result<(), Stop> {
        self.workgroup = workgroup;
        self.barriers = [0; 3];
        self.lost_at = None;
        if let Some(sync) = &mut self.sync {
            sync.begin_workgroup(self.n, &mut self.budget)?;
        }
        let never = reasons.taint(Why::Uninitialised, NOWHERE);
        for bytes in &mut self.objects {
            let Some(object) = bytes.object.map(|object| &code.objects[object as usize]) else { continue };
            if matches!(object.kind, ObjectKind::Workgroup(_)) {
                bytes.bytes.fill(0);
                for (_, page) in bytes.shadow.pages() {
                    let who = page.iter().flat_map(|shadow| [shadow.reader, shadow.atomic]);
                    self.free.extend(who.filter(|who| who & MANY != 0).map(|many| many & !MANY));
                }
                bytes.shadow.reset(Shadow::default(), &mut self.budget);
                bytes.taints.reset(if object.zeroed { 0 } else { never }, &mut self.budget);
            }
        }
        let objects = &self.objects;
        self.equal.iter_mut().for_each(|equal| equal.retain(|(object, _), _| objects[*object as usize].domain != 0));
        for order in &mut self.orders {
            let none = || vec![0; self.n as usize];
            let now = vec![1; self.n as usize];
            *order = Order { now, lanes: size, released: [none(), none()], ..Order::default() };
        }
        Ok(())
    }

    /// An invocation's path is unknown from here on.
    pub fn lose(&mut self) {
        self.lost_at.get_or_insert(self.barriers);
        self.sync.iter_mut().for_each(Sync::lose);
    }

    /// What lost invocations may have written, in these kinds of memory: everything that no other one accessed, since races are excluded; and what
    /// others accessed before something that may order it before what lost ones write. Gives how many granules were looked at.
    pub fn taint_lost(&mut self, kinds: Orders, lost: impl Fn(u32) -> bool, taint: u32) -> Result<u64, Stop> {
        let granule = self.granule as usize;
        let mut granules = 0;
        for object in self.objects.iter_mut().filter(|object| kinds[object.domain] && !object.read_only) {
            let (length, domain) = (object.bytes.len(), object.domain);
            let old = std::mem::replace(&mut object.taints, Sparse::new(taint));
            let last = |who: u32, when: u32| {
                !lost(who) && self.sync.as_ref().is_none_or(|sync| !sync.releases_after(domain, who, when))
            };
            for (number, page) in object.shadow.pages() {
                granules += PAGE as u64;
                for (at, shadow) in (number * PAGE..).zip(page) {
                    let written = shadow.writer != 0 && last(shadow.writer, shadow.written);
                    let read = match shadow.reader {
                        0 => false,
                        many if many & MANY != 0 => {
                            self.several[(many & !MANY) as usize].iter().any(|(who, when)| last(*who, *when))
                        }
                        one => last(one, shadow.read),
                    };
                    if written || read {
                        for byte in (at * granule..(at + 1) * granule).take_while(|byte| *byte < length) {
                            *object.taints.at(byte, length, &mut self.budget)? = old.get(byte);
                        }
                    }
                }
            }
            self.budget.give(old.used);
        }
        Ok(granules)
    }

    /// The bytes of an object of the module that nobody can write.
    #[inline]
    fn unchanging(&self, object: u32) -> Option<&[u8]> {
        let bytes = &self.objects[*self.of_variable.get(object as usize)? as usize];
        bytes.read_only.then_some(bytes.bytes.as_slice())
    }

    /// What a pointer goes through.
    fn way(space: Space, pointer: u64) -> Through {
        if space == Space::Physical { ADDRESS } else { (pointer >> OFFSET_BITS).wrapping_sub(1) as Through }
    }

    /// The object and the offset behind a pointer.
    #[inline]
    pub(super) fn resolve(&self, space: Space, pointer: u64) -> Option<(u32, u64)> {
        if space == Space::Physical {
            let found = self.addresses.iter().find(|(first, end, _)| (*first..*end).contains(&pointer));
            return found.map(|(first, _, object)| (*object, pointer - first));
        }
        let object = (pointer >> OFFSET_BITS).checked_sub(1)?;
        let object = *self.of_variable.get(usize::try_from(object).ok()?)?;
        Some((object, pointer & OFFSET_MASK))
    }
}

/// A number of 1, 2, 4 or 8 bytes.
#[inline(always)]
fn read(bytes: &[u8], size: usize) -> u64 {
    match (size, bytes) {
        (4, &[a, b, c, d, ..]) => u64::from(u32::from_le_bytes([a, b, c, d])),
        (8, &[a, b, c, d, e, f, g, h, ..]) => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        (2, &[a, b, ..]) => u64::from(u16::from_le_bytes([a, b])),
        _ => u64::from(bytes[0]),
    }
}

/// Writes the low `size` bytes of a number: 1, 2, 4 or 8.
#[inline(always)]
fn write(bytes: &mut [u8], value: u64, size: usize) {
    let value = value.to_le_bytes();
    match size {
        4 => bytes[..4].copy_from_slice(&value[..4]),
        8 => bytes[..8].copy_from_slice(&value),
        2 => bytes[..2].copy_from_slice(&value[..2]),
        _ => bytes[0] = value[0],
    }
}
