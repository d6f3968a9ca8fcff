//! One opened device: what lives from job to job.

use std::time::Duration;

use ash::vk;

use super::features::Chain;
use super::instance::Instance;
use super::layout::Layouts;
use super::memory::{Memory, Placement};
use super::{FromCall, describe};
use crate::info::{DeviceInfo, DeviceType, DriverMode};

/// An opened device.
pub(super) struct Session {
    pub(super) info: DeviceInfo,
    pub(super) device: ash::Device,
    pub(super) queue: vk::Queue,
    pub(super) command_pool: vk::CommandPool,
    pub(super) commands: vk::CommandBuffer,
    pub(super) fence: vk::Fence,
    pub(super) layouts: Layouts,
    pub(super) memory: Memory,
    /// Longest wait for one dispatch.
    pub(super) wait_limit: Duration,
}

impl Session {
    /// Creates the logical device with every feature tangle uses; the error is a line for a person.
    pub(super) fn open(instance: &Instance, info: DeviceInfo, wait_limit: Duration) -> Result<Session, String> {
        if info.api_version.major == 1 && info.api_version.minor == 0 {
            return Err(format!("{} is a Vulkan {} device; subgroups need 1.1", info.device_name, info.api_version));
        }
        let physical = instance.physical_devices[info.index as usize];
        let family = compute_family(instance, physical).ok_or("the device has no queue that computes")?;
        let open = || {
            let device = create_device(instance, physical, &info, family)?;
            // SAFETY: the device was created with one queue of this family.
            let queue = unsafe { device.get_device_queue(family, 0) };
            let create_info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
            // SAFETY: the family is one of the device's.
            let command_pool =
                unsafe { device.create_command_pool(&create_info, None) }.from_call("vkCreateCommandPool")?;
            let allocate_info =
                vk::CommandBufferAllocateInfo::default().command_pool(command_pool).command_buffer_count(1);
            // SAFETY: the pool was just created.
            let commands = unsafe { device.allocate_command_buffers(&allocate_info) }
                .from_call("vkAllocateCommandBuffers")?[0];
            // SAFETY: nothing is asked for that could be wrong.
            let fence = unsafe { device.create_fence(&vk::FenceCreateInfo::default(), None) }
                .from_call("vkCreateFence")?;
            Ok((device, queue, command_pool, commands, fence))
        };
        let (device, queue, command_pool, commands, fence) = open().map_err(|failure: super::Failure| failure.to_string())?;
        // SAFETY: the physical device was enumerated from this instance.
        let properties = unsafe { instance.handle.get_physical_device_memory_properties(physical) };
        let memory = Memory::new(properties, placement(&info));
        Ok(Session {
            info,
            device,
            queue,
            command_pool,
            commands,
            fence,
            layouts: Layouts::default(),
            memory,
            wait_limit,
        })
    }

    /// Whether compiled pipelines are run.
    pub(super) fn executes(&self) -> bool {
        self.info.mode == DriverMode::Execute
    }
}

/// Environment variable of a worker that chooses where shaders work: `shared` or `staged`; for tests, and for devices
/// that are wrong about their type.
const PLACEMENT_VARIABLE: &str = "TANGLE_WORKER_MEMORY";

fn placement(info: &DeviceInfo) -> Placement {
    match (std::env::var(PLACEMENT_VARIABLE).as_deref(), info.device_type) {
        (Ok("shared"), _) => Placement::Shared,
        (Ok("staged"), _) => Placement::Staged,
        (_, DeviceType::Cpu | DeviceType::IntegratedGpu) => Placement::Shared,
        _ => Placement::Staged,
    }
}

fn compute_family(instance: &Instance, physical: vk::PhysicalDevice) -> Option<u32> {
    // SAFETY: the physical device was enumerated from this instance.
    let families = unsafe { instance.handle.get_physical_device_queue_family_properties(physical) };
    let computes = |family: &vk::QueueFamilyProperties| {
        family.queue_flags.contains(vk::QueueFlags::COMPUTE) && family.queue_count > 0
    };
    families.iter().position(computes).map(|index| index as u32)
}

fn create_device(
    instance: &Instance,
    physical: vk::PhysicalDevice,
    info: &DeviceInfo,
    family: u32,
) -> Result<ash::Device, super::Failure> {
    let available = describe::available(instance, physical)?;
    let extensions: Vec<_> = available.extensions_for(info.features).iter().map(|name| name.as_ptr()).collect();
    let mut chain = Chain::wanting(info.features);
    let mut features = chain.link(&available);
    let priorities = [1.0];
    let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&priorities)];
    let create_info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&extensions)
        .push_next(&mut features);
    // SAFETY: every extension and feature asked for is one that the device has; all structures live until the call
    // returns.
    unsafe { instance.handle.create_device(physical, &create_info, None) }.from_call("vkCreateDevice")
}
