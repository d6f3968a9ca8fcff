//! Runs compute jobs on Vulkan drivers, each in a worker process that may crash or hang without taking anything with it.
//!
//! What goes in is plain data: a [`Job`] of SPIR-V, buffers and launches; what comes out is plain data: an [`Outcome`]
//! with what the shader left in the buffers, or how the driver failed. The crate knows nothing of test cases or of what
//! is right; beside the devices it has the [`toolchain`] that makes SPIR-V from GLSL.
//!
//! ```text
//!     GLSL ──▶ toolchain ──▶ SPIR-V
//!                              │
//!                             Job ──▶ Device ─── pipe ──▶ worker process ──▶ Vulkan loader, EGL or Dawn ──▶ driver
//!                                       │                      │
//!                             Outcome ◀─┴──── Started, Done ───┘
//!
//!     config      which drivers there are: devices.toml and those installed in the system
//!     inventory   asks each of them, in a worker of its own, which devices it has
//!     device      an open device: submit jobs, receive outcomes; supervisor and process keep its worker alive
//!     worker      the other side: this same program, started again with TANGLE_WORKER=1
//!     check       what would be undefined behaviour in Vulkan is turned away before a driver sees it
//! ```
//!
//! A program that opens devices begins its `main` with [`worker::run_if_requested`], because its workers are itself:
//!
//! ```no_run
//! use tangle_runner::{Device, Inventory, Job, DeviceOptions, ProbeOptions, drivers};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     tangle_runner::worker::run_if_requested();
//!     let inventory = Inventory::probe(&drivers(None)?, &ProbeOptions::default());
//!     let (driver, info) = inventory.device("lvp")?;
//!     let device = Device::open(driver, info.index, &DeviceOptions::default())?;
//!     println!("{}", device.run(Job { id: 1, ..Job::default() }));
//!     Ok(())
//! }
//! ```

pub mod check;
pub mod config;
mod device;
mod error;
mod gpu_lock;
mod info;
mod inventory;
mod job;
mod meter;
mod oom;
mod outcome;
mod process;
mod protocol;
mod scheduler;
mod shared;
pub mod spirv;
pub mod stack;
mod supervisor;
mod texel;
#[cfg(feature = "toolchain")]
pub mod toolchain;
mod words;
pub mod worker;

pub use config::{DriverConfig, drivers};
pub use device::Device;
pub use error::{ConfigError, DeviceError, StartProblem};
pub use info::{
    ApiVersion, DeviceInfo, DeviceType, DriverMode, Limits, OpenGlInfo, SubgroupInfo, Subgroups, Uuid, WebGpuInfo,
    WorkgroupLimits,
};
pub use inventory::{Inventory, Probe, ProbeOptions};
pub use job::{
    Address, Buffer, BufferKind, Init, ItemPipeline, Job, Launch, Module, Optimisation, Pipeline, Place, Raster,
    ReadBackMode, ShaderStage, Source, SubgroupFlags,
};
pub use meter::{processor_time, thread_time, wait_within};
pub use oom::OomKills;
pub use outcome::{
    Completed, LaunchOutput, Outcome, ReadBack, Shortage, Stage, Stall, Suspicion, Terms, Times, WorkerEnd,
};
pub use scheduler::Scheduler;
pub use shared::{Completion, DeviceOptions, DeviceStats};
pub use tangle_features::{Api, Feature, FeatureSet, UnknownFeature};
pub use tangle_program::case::SpirvVersion;
pub use texel::{Image, ImageView, TexelFormat};
