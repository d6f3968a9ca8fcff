//! Functions of Vulkan that failed.

use ash::vk;

/// A Vulkan function that failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure {
    pub(super) call: &'static str,
    pub(super) result: vk::Result,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(formatter, "{} returned {}", self.call, result_name(self.result))
    }
}

/// The result under its name in the specification; ash leaves the `VK_` out.
pub(super) fn result_name(result: vk::Result) -> String {
    format!("VK_{result:?}")
}

/// Names the function that a result came from.
pub(super) trait InCall {
    type Ok;
    fn in_call(self, call: &'static str) -> Result<Self::Ok, Failure>;
}

impl<T> InCall for Result<T, vk::Result> {
    type Ok = T;

    fn in_call(self, call: &'static str) -> Result<T, Failure> {
        self.map_err(|result| Failure { call, result })
    }
}
