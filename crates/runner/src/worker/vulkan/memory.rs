//! Buffers, kept from job to job and grown when a job needs more.
//!
//! Where the processor and the device share memory, the shader works on mapped memory. On other devices it works on
//! device memory, and a second, mapped buffer (staging) takes the data there and back.

use ash::vk;

use super::failure::{Failure, InCall};
use crate::job::Init;

/// Smallest capacity of a buffer, bytes.
const SMALLEST: u64 = 64 << 10;

/// Memory that a program can write without flushing; every device has the first without `HOST_CACHED`.
const MAPPED: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::from_raw(
    vk::MemoryPropertyFlags::HOST_VISIBLE.as_raw() | vk::MemoryPropertyFlags::HOST_COHERENT.as_raw(),
);

/// In which memory the buffers are that shaders work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// In mapped memory, which the program reads and writes itself.
    Shared,
    /// In device memory, with staging.
    Staged,
}

/// One buffer with its own memory.
struct Block {
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    capacity: u64,
    /// Null when the memory is not mapped.
    words: *mut u32,
}

/// Whether a buffer has a device address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Addressing {
    /// Only descriptors name it.
    None,
    /// It can be asked for its address.
    Device,
}

/// One buffer of a launch, as the device sees it.
pub(super) struct Slot {
    block: Block,
    staging: Option<Block>,
    addressing: Addressing,
    /// Words of the present launch.
    used: u64,
}

/// All buffers of a session: the n-th buffer of every launch is the n-th slot.
pub(super) struct Memory {
    properties: vk::PhysicalDeviceMemoryProperties,
    placement: Placement,
    slots: Vec<Slot>,
}

impl Memory {
    pub(super) fn new(properties: vk::PhysicalDeviceMemoryProperties, placement: Placement) -> Memory {
        Memory { properties, placement, slots: Vec::new() }
    }

    /// Makes the slot with this index large enough, and one of this kind.
    pub(super) fn reserve(
        &mut self,
        device: &ash::Device,
        index: usize,
        words: u64,
        addressing: Addressing,
    ) -> Result<(), Failure> {
        let bytes = words * 4;
        if let Some(slot) = self.slots.get_mut(index)
            && slot.block.capacity >= bytes
            && slot.addressing == addressing
        {
            slot.used = words;
            return Ok(());
        }
        let capacity = capacity_for(bytes);
        let staging = match self.placement {
            Placement::Shared => None,
            Placement::Staged => Some(self.allocate(device, capacity, Placement::Shared, Addressing::None)?),
        };
        let block = self.allocate(device, capacity, self.placement, addressing)?;
        let slot = Slot { block, staging, addressing, used: words };
        if index < self.slots.len() {
            let old = std::mem::replace(&mut self.slots[index], slot);
            old.free(device);
        } else {
            self.slots.push(slot);
        }
        Ok(())
    }

    /// The slot with this index, which must have been reserved.
    pub(super) fn slot(&self, index: usize) -> &Slot {
        &self.slots[index]
    }

    /// Puts a buffer's first contents in place, or records the commands that will.
    pub(super) fn fill(&mut self, device: &ash::Device, commands: vk::CommandBuffer, index: usize, init: &Init) {
        let slot = &mut self.slots[index];
        let used = slot.used;
        match (init, &mut slot.staging) {
            (Init::Data(words), None) => slot.block.mapped_mut(used).copy_from_slice(words),
            (Init::Zero { .. }, None) => slot.block.mapped_mut(used).fill(0),
            (Init::Data(words), Some(staging)) => {
                staging.mapped_mut(used).copy_from_slice(words);
                // SAFETY: both buffers hold that many bytes; the command buffer is being recorded.
                unsafe {
                    let region = vk::BufferCopy { src_offset: 0, dst_offset: 0, size: used * 4 };
                    device.cmd_copy_buffer(commands, staging.buffer, slot.block.buffer, &[region]);
                }
            }
            (Init::Zero { .. }, Some(_)) => {
                // SAFETY: the range is inside the buffer and a multiple of 4 bytes.
                unsafe { device.cmd_fill_buffer(commands, slot.block.buffer, 0, used * 4, 0) };
            }
        }
    }

    /// In which memory the buffers are that shaders work on.
    pub(super) fn placement(&self) -> Placement {
        self.placement
    }

    fn allocate(
        &self,
        device: &ash::Device,
        capacity: u64,
        placement: Placement,
        addressing: Addressing,
    ) -> Result<Block, Failure> {
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::UNIFORM_BUFFER
            | vk::BufferUsageFlags::STORAGE_TEXEL_BUFFER
            | vk::BufferUsageFlags::UNIFORM_TEXEL_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST;
        let usage = match addressing {
            Addressing::None => usage,
            Addressing::Device => usage | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS,
        };
        let create_info = vk::BufferCreateInfo::default().size(capacity).usage(usage);
        // SAFETY: the size is not zero.
        let buffer = unsafe { device.create_buffer(&create_info, None) }.in_call("vkCreateBuffer")?;
        // SAFETY: the buffer was just created.
        let requirements = unsafe { device.get_buffer_memory_requirements(buffer) };
        let allocated = self.allocate_memory(device, &requirements, placement, addressing);
        let memory = allocated.inspect_err(|_| {
            // SAFETY: nothing uses the buffer yet.
            unsafe { device.destroy_buffer(buffer, None) }
        })?;
        let mut block = Block { buffer, memory, capacity, words: std::ptr::null_mut() };
        block.bind(device, placement).inspect_err(|_| block.free(device))?;
        Ok(block)
    }

    /// Memory for an image that only the device works on.
    pub(super) fn allocate_for_image(
        &self,
        device: &ash::Device,
        requirements: &vk::MemoryRequirements,
    ) -> Result<vk::DeviceMemory, Failure> {
        self.allocate_memory(device, requirements, Placement::Staged, Addressing::None)
    }

    fn allocate_memory(
        &self,
        device: &ash::Device,
        requirements: &vk::MemoryRequirements,
        placement: Placement,
        addressing: Addressing,
    ) -> Result<vk::DeviceMemory, Failure> {
        let preferences = match placement {
            Placement::Shared => [MAPPED | vk::MemoryPropertyFlags::HOST_CACHED, MAPPED],
            Placement::Staged => [vk::MemoryPropertyFlags::DEVICE_LOCAL, vk::MemoryPropertyFlags::empty()],
        };
        let index = preferences.iter().find_map(|&wanted| self.memory_type(requirements.memory_type_bits, wanted));
        let index = index.ok_or(Failure {
            call: "vkGetPhysicalDeviceMemoryProperties",
            result: vk::Result::ERROR_OUT_OF_DEVICE_MEMORY,
        })?;
        let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let mut allocate_info =
            vk::MemoryAllocateInfo::default().allocation_size(requirements.size).memory_type_index(index);
        if addressing == Addressing::Device {
            allocate_info = allocate_info.push_next(&mut flags);
        }
        // SAFETY: the size and the memory type come from the device itself; addresses are asked for where it has them (check.rs).
        unsafe { device.allocate_memory(&allocate_info, None) }.in_call("vkAllocateMemory")
    }

    fn memory_type(&self, allowed: u32, wanted: vk::MemoryPropertyFlags) -> Option<u32> {
        let types = self.properties.memory_types_as_slice();
        (0..types.len() as u32)
            .find(|&index| allowed >> index & 1 != 0 && types[index as usize].property_flags.contains(wanted))
    }
}

/// Grows in powers of two, so that a campaign soon stops allocating.
fn capacity_for(bytes: u64) -> u64 {
    bytes.checked_next_power_of_two().unwrap_or(bytes).max(SMALLEST)
}

impl Block {
    fn bind(&mut self, device: &ash::Device, placement: Placement) -> Result<(), Failure> {
        // SAFETY: buffer and memory were made for each other and are not bound yet.
        unsafe { device.bind_buffer_memory(self.buffer, self.memory, 0) }.in_call("vkBindBufferMemory")?;
        if placement == Placement::Shared {
            // SAFETY: the memory is host-visible and not mapped; it stays mapped until it is freed.
            let pointer = unsafe { device.map_memory(self.memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()) };
            self.words = pointer.in_call("vkMapMemory")?.cast();
        }
        Ok(())
    }

    fn free(&self, device: &ash::Device) {
        // SAFETY: the device is idle between launches, and the block is not used again.
        unsafe {
            device.destroy_buffer(self.buffer, None);
            device.free_memory(self.memory, None);
        }
    }

    /// The first `count` words of mapped memory.
    fn mapped(&self, count: u64) -> &[u32] {
        assert!(!self.words.is_null() && count * 4 <= self.capacity);
        // SAFETY: mapped, large enough, and aligned (minMemoryMapAlignment is at least 64); the device is idle, so
        // nothing else writes there.
        unsafe { std::slice::from_raw_parts(self.words, count as usize) }
    }

    /// The same for writing. The slice lives as long as the borrow of the block; callers hold one at a time.
    fn mapped_mut(&mut self, count: u64) -> &mut [u32] {
        assert!(!self.words.is_null() && count * 4 <= self.capacity);
        // SAFETY: as in `mapped`, and the block is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.words, count as usize) }
    }
}

impl Slot {
    fn free(&self, device: &ash::Device) {
        self.block.free(device);
        self.staging.iter().for_each(|staging| staging.free(device));
    }

    /// The buffer a shader works on, with the size of the present launch.
    pub(super) fn descriptor(&self) -> vk::DescriptorBufferInfo {
        vk::DescriptorBufferInfo { buffer: self.block.buffer, offset: 0, range: self.used * 4 }
    }

    /// The device address of its beginning; the slot was reserved with [`Addressing::Device`].
    pub(super) fn address(&self, device: &ash::Device) -> u64 {
        assert_eq!(self.addressing, Addressing::Device);
        let info = vk::BufferDeviceAddressInfo::default().buffer(self.block.buffer);
        // SAFETY: the buffer and its memory were made to be addressed, and the device has the feature of Vulkan 1.2 that this needs (check.rs).
        unsafe { device.get_buffer_device_address(&info) }
    }

    /// What is in the buffer, once the device is idle and [`Slot::record_download`] has run where it applies.
    pub(super) fn contents(&self) -> &[u32] {
        self.staging.as_ref().unwrap_or(&self.block).mapped(self.used)
    }

    /// Records the copy from device memory to staging; nothing where memory is shared.
    pub(super) fn record_download(&self, device: &ash::Device, commands: vk::CommandBuffer) {
        if let Some(staging) = &self.staging {
            // SAFETY: both buffers hold that many bytes; the command buffer is being recorded.
            unsafe { device.cmd_copy_buffer(commands, self.block.buffer, staging.buffer, &[self.whole()]) };
        }
    }

    fn whole(&self) -> vk::BufferCopy {
        vk::BufferCopy { src_offset: 0, dst_offset: 0, size: self.used * 4 }
    }
}
