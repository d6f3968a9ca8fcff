//! What a bug tracker asks about the machine, from `device.json`.

use serde_json::Value;
use tangle_identity::DriverId;

use crate::subject::TestedDevice;

/// A line of the environment block: what, and its value; empty where a person has to fill it in.
pub type Property = (&'static str, String);

/// The environment block of a bug report; without a device every value is for a person to fill in.
pub fn properties(device: Option<&TestedDevice>) -> Vec<Property> {
    let nothing = Value::Null;
    let info = device.map_or(&nothing, |device| &device.info);
    let text = |name: &str| info[name].as_str().unwrap_or_default().to_owned();
    let mut rows = vec![
        ("Device", text("device_name")),
        ("Driver", DriverId::of(info).to_string()),
        ("Driver version", number(info, "driver_version")),
        ("Vulkan", text("api_version")),
        ("Conformance", text("conformance_version")),
        ("Vendor and device id", ids(info)),
        ("Subgroup sizes", sizes(&info["subgroup"])),
        ("Device type", text("device_type")),
    ];
    // A driver that does not say it, or a device that is none.
    rows.retain(|(what, value)| !value.is_empty() || matches!(*what, "Device" | "Driver" | "Vulkan"));
    rows.push(("Operating system and kernel", text("system")));
    rows
}

fn number(info: &Value, name: &str) -> String {
    info[name].as_u64().map_or_else(String::new, |number| format!("{number} ({number:#x})"))
}

fn ids(info: &Value) -> String {
    match (info["vendor_id"].as_u64(), info["device_id"].as_u64()) {
        (Some(vendor), Some(device)) => format!("{vendor:#06x}:{device:#06x}"),
        _ => String::new(),
    }
}

fn sizes(subgroup: &Value) -> String {
    let size = |name: &str| subgroup[name].as_u64();
    match (size("size"), size("min_size"), size("max_size")) {
        (Some(size), Some(min), Some(max)) if min != max => format!("{size} ({min} to {max})"),
        (Some(size), ..) => size.to_string(),
        _ => String::new(),
    }
}

/// What the device calls itself; its name in tangle if that is not known.
pub(super) fn device_name(device: &TestedDevice) -> &str {
    device.info["device_name"].as_str().filter(|name| !name.is_empty()).unwrap_or(&device.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_left_to_a_person() {
        let blank: Vec<&str> =
            properties(None).into_iter().filter(|(_, value)| value.is_empty()).map(|(what, _)| what).collect();
        assert_eq!(blank, ["Device", "Driver", "Vulkan", "Operating system and kernel"]);
    }

    #[test]
    fn a_device_is_described() {
        let info = serde_json::json!({
            "device_name": "llvmpipe", "driver_name": "llvmpipe", "driver_info": "Mesa 26.2.6", "driver_version": 1,
            "vendor_id": 0x10005, "device_id": 0, "api_version": "1.4.335",
            "subgroup": { "size": 8, "min_size": 4, "max_size": 16 }, "system": "Linux 6.1",
        });
        let device = TestedDevice { name: "lvp".into(), info, start: String::new() };
        let rows = properties(Some(&device));
        for (what, value) in [
            ("Driver", "llvmpipe Mesa 26.2.6"),
            ("Vulkan", "1.4.335"),
            ("Vendor and device id", "0x10005:0x0000"),
            ("Subgroup sizes", "8 (4 to 16)"),
            ("Operating system and kernel", "Linux 6.1"),
        ] {
            assert!(rows.contains(&(what, value.into())), "{rows:?}");
        }
    }
}
