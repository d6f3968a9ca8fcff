//! The loader, an instance, and its physical devices.

use ash::vk;

use super::failure::{InCall, result_name};
use crate::info::ApiVersion;

/// The newest Vulkan that is asked for: SwiftShader refuses an instance of 1.4.
const NEWEST: u32 = vk::API_VERSION_1_3;

/// Major, minor and patch of a packed version.
pub(super) fn unpack(version: u32) -> ApiVersion {
    ApiVersion {
        major: vk::api_version_major(version),
        minor: vk::api_version_minor(version),
        patch: vk::api_version_patch(version),
    }
}

/// An instance of the newest version that tangle uses and the loader has.
pub(super) struct Instance {
    /// Keeps the loader in the process.
    _entry: ash::Entry,
    pub(super) handle: ash::Instance,
    pub(super) physical_devices: Vec<vk::PhysicalDevice>,
    /// Version that was asked for, packed as Vulkan has it.
    pub(super) version: u32,
}

impl Instance {
    /// Loads the loader and creates the instance; the error is a line for a person.
    pub(super) fn create() -> Result<Instance, String> {
        // SAFETY: the Vulkan loader is an ordinary library; its initialisers ask nothing of us.
        let entry = unsafe { ash::Entry::load() }
            .map_err(|error| format!("no Vulkan loader (Debian: apt install libvulkan1): {error}"))?;
        // SAFETY: called before any instance exists, as it must be.
        let newest_loader = unsafe { entry.try_enumerate_instance_version() }
            .in_call("vkEnumerateInstanceVersion")
            .map_err(|failure| failure.to_string())?
            .unwrap_or(vk::API_VERSION_1_0);
        let version = newest_loader.min(NEWEST);
        if version < vk::API_VERSION_1_1 {
            return Err("the Vulkan loader is of version 1.0; subgroups need 1.1".to_owned());
        }
        let application = vk::ApplicationInfo::default().application_name(c"tangle").api_version(version);
        let create_info = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: the structures live until the call returns and ask for no extension or layer.
        let handle = unsafe { entry.create_instance(&create_info, None) }.map_err(explain_no_instance)?;
        // SAFETY: the instance was just created.
        let physical_devices = match unsafe { handle.enumerate_physical_devices() } {
            // What the loader answers when the driver has no hardware.
            Err(vk::Result::ERROR_INITIALIZATION_FAILED) => Vec::new(),
            listed => listed.in_call("vkEnumeratePhysicalDevices").map_err(|failure| failure.to_string())?,
        };
        Ok(Instance { _entry: entry, handle, physical_devices, version })
    }

    /// The version of a device that tangle may use: no newer than the instance.
    pub(super) fn usable_version(&self, device: u32) -> u32 {
        device.min(self.version)
    }
}

fn explain_no_instance(result: vk::Result) -> String {
    match result {
        vk::Result::ERROR_INCOMPATIBLE_DRIVER => {
            "the Vulkan loader found no driver that it can use (VK_ERROR_INCOMPATIBLE_DRIVER)".to_owned()
        }
        other => format!("vkCreateInstance returned {}", result_name(other)),
    }
}
