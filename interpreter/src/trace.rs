//! Hooks into a run: every dynamic instance as it is executed.

use rspirv::spirv;

use crate::decode::is_group;
use crate::outcome::Location;

/// The lanes of one subgroup that execute an instruction together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tangle {
    /// Index of the subgroup in the workgroup ([`LanePosition::subgroup`](crate::lane_map::LanePosition::subgroup)).
    pub subgroup: u32,
    /// Bit `k`: the invocation with `SubgroupLocalInvocationId` `k`.
    pub lanes: u128,
    /// True if the tier's rules say that exactly these lanes are the tangle. False where they leave it open.
    pub exact: bool,
}

/// One dynamic instance, as the interpreter executes it.
pub trait Instance {
    /// The operation of the instruction.
    fn opcode(&self) -> spirv::Op;
    /// True of an operation of a subgroup or quad: `OpGroupNonUniform*`, in the core and in extensions.
    fn is_group_operation(&self) -> bool {
        is_group(self.opcode())
    }
    /// The instruction, as reports name it.
    fn location(&self) -> Location;
    /// Linear index of the workgroup.
    fn workgroup(&self) -> u32;
    /// Local invocation indices of the lanes that execute it in one step, ascending. They are of any number of subgroups.
    fn active(&self) -> Vec<u32>;
    /// The same by subgroup.
    fn tangles(&self) -> Vec<Tangle>;
    /// The subgroup of an invocation, by its local index, as in [`Tangle::subgroup`].
    fn subgroup(&self, local_index: u32) -> u32;
    /// The result of one invocation: a number for every scalar of it, or `None` where it is not determined. Empty without a result.
    fn result(&self, local_index: u32) -> Vec<Option<u64>>;
}

/// One scalar that an instruction writes to a buffer or image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The store or atomic.
    pub location: Location,
    /// Linear index of the workgroup.
    pub workgroup: u32,
    /// Local invocation index of the invocation that writes.
    pub local_index: u32,
    /// Index in [`Dispatch::buffers`](crate::dispatch::Dispatch::buffers).
    pub buffer: usize,
    /// Byte offset of the scalar in the buffer.
    pub offset: usize,
    /// Its bytes: 1, 2, 4 or 8.
    pub bytes: usize,
    /// What is written, or `None` where it is not determined.
    pub value: Option<u64>,
    /// What was there before, or `None` where it was not determined.
    pub before: Option<u64>,
}

/// Watches a run. A run that has to be repeated because an assumption of it proved wrong (see the crate's page) is announced by
/// [`Observer::restarted`]; what was seen before is then void.
pub trait Observer {
    /// An instruction was executed.
    fn executed(&mut self, instance: &dyn Instance);
    /// An instruction writes to a buffer or image, before it counts as executed.
    fn wrote(&mut self, write: &Write) {
        let _ = write;
    }
    /// The workgroup is executed again from its beginning.
    fn restarted(&mut self, workgroup: u32);
}
