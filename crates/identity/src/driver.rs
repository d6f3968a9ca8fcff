//! The driver of a device, as the device names it.

use std::fmt;

use serde_json::Value;

/// Name and version of a driver; empty where the device does not say it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DriverId {
    /// Its name (`VkPhysicalDeviceDriverProperties::driverName`), the same for all its versions.
    pub name: String,
    /// Its version in its own words (`driverInfo`).
    pub version: String,
}

impl DriverId {
    /// From what is saved of a device (`device.json`).
    pub fn of(info: &Value) -> DriverId {
        let member = |name: &str| info[name].as_str().unwrap_or_default().trim().to_owned();
        DriverId { name: member("driver_name"), version: member("driver_info") }
    }
}

impl fmt::Display for DriverId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DriverId { name, version } = self;
        formatter.write_str(name)?;
        if !name.is_empty() && !version.is_empty() {
            formatter.write_str(" ")?;
        }
        formatter.write_str(version)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_device_does_not_say_is_empty() {
        for (info, text) in [
            (json!({ "driver_name": "llvmpipe ", "driver_info": "Mesa 26.2.6" }), "llvmpipe Mesa 26.2.6"),
            (json!({ "driver_name": "llvmpipe" }), "llvmpipe"),
            (json!({ "driver_info": "1.2" }), "1.2"),
            (Value::Null, ""),
        ] {
            assert_eq!(DriverId::of(&info).to_string(), text);
        }
    }
}
