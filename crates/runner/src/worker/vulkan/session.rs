//! One opened device: what lives from job to job.

use ash::vk;

use super::describe;
use super::dispatch::Dispatcher;
use super::failure::{Failure, InCall};
use super::features::Chain;
use super::graphics::Graphics;
use super::instance::Instance;
use super::layout::Layouts;
use crate::gpu_lock::{self, GpuLock};
use crate::info::{DeviceInfo, DriverMode};

/// A device that was opened, with what jobs need again and again.
pub(super) struct Session {
    pub(super) info: DeviceInfo,
    pub(super) device: ash::Device,
    /// To find functions of extensions, and to ask about formats.
    pub(super) instance: ash::Instance,
    pub(super) physical: vk::PhysicalDevice,
    /// What graphics pipelines share, once there is one.
    pub(super) graphics: Option<Graphics>,
    pub(super) layouts: Layouts,
    /// None on a device that only compiles: such a driver often cannot make even a fence.
    pub(super) dispatcher: Option<Dispatcher>,
}

impl Session {
    /// Creates the logical device with every feature tangle uses; the error is a line for a person.
    pub(super) fn open(instance: &Instance, info: DeviceInfo) -> Result<Session, String> {
        if info.api_version.major == 1 && info.api_version.minor == 0 {
            return Err(format!("{} is a Vulkan {} device; subgroups need 1.1", info.device_name, info.api_version));
        }
        let physical = instance.physical_devices[info.index as usize];
        let family = compute_family(instance, physical).ok_or("the device has no queue that computes")?;
        Session::create(instance, physical, family, info).map_err(|failure| failure.to_string())
    }

    fn create(
        instance: &Instance,
        physical: vk::PhysicalDevice,
        family: u32,
        info: DeviceInfo,
    ) -> Result<Session, Failure> {
        let _opens = gpu_lock::to_open(&info);
        let lock = GpuLock::of(&info);
        let device = create_device(instance, physical, family, &info)?;
        let dispatcher = match info.mode {
            DriverMode::CompileOnly => None,
            DriverMode::Execute => {
                // SAFETY: the physical device was enumerated from this instance.
                let memory = unsafe { instance.handle.get_physical_device_memory_properties(physical) };
                Some(Dispatcher::new(&device, family, memory, info.device_type, lock)?)
            }
        };
        Ok(Session {
            layouts: Layouts::new(info.mode),
            info,
            device,
            instance: instance.handle.clone(),
            physical,
            graphics: None,
            dispatcher,
        })
    }
}

/// A family that draws, too, if there is one.
fn compute_family(instance: &Instance, physical: vk::PhysicalDevice) -> Option<u32> {
    // SAFETY: the physical device was enumerated from this instance.
    let families = unsafe { instance.handle.get_physical_device_queue_family_properties(physical) };
    let has = |flags: vk::QueueFlags| {
        families.iter().position(|family| family.queue_flags.contains(flags) && family.queue_count > 0)
    };
    let family = has(vk::QueueFlags::COMPUTE | vk::QueueFlags::GRAPHICS).or_else(|| has(vk::QueueFlags::COMPUTE));
    family.map(|index| index as u32)
}

fn create_device(
    instance: &Instance,
    physical: vk::PhysicalDevice,
    family: u32,
    info: &DeviceInfo,
) -> Result<ash::Device, Failure> {
    let available = describe::available(instance, physical)?;
    let extensions: Vec<_> = available.extensions_for(info.features).iter().map(|name| name.as_ptr()).collect();
    let mut chain = Chain::wanting(info.features, &available);
    let priorities = [1.0];
    let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&priorities)];
    let create_info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&extensions)
        .push_next(chain.link());
    // SAFETY: every extension and feature asked for is one that the device has; all structures live until the call
    // returns.
    unsafe { instance.handle.create_device(physical, &create_info, None) }.in_call("vkCreateDevice")
}
