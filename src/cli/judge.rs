//! `tangle judge FILE`

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use tangle_campaign::executor::interpreter::Interpreter;
use tangle_files::words::to_bytes;
use tangle_interpreter::{
    BindingKind, BufferState, End, Error, Interface, Limits, Module, Outcome, OutputState, OutputValue, Pipeline, Tier,
};
use tangle_judge::compare::{Counts, Difference, compare_with};
use tangle_judge::contents::Contents;
use tangle_judge::device::{Compared, Device, Made, Ready};
use tangle_judge::finding::{Finding, TIERS, tier_name};
use tangle_judge::made::{Maker, still_differs};
use tangle_judge::reduce::reduce;
use tangle_judge::run::{Inputs, Judged, judge};
use tangle_judge::script::{self, Expectation};
use tangle_judge::source::Source;
use tangle_program::subgroup::parse_subgroup_size;
use tangle_runner::{DeviceOptions, Inventory, ProbeOptions};

use super::args::{DriverArgs, Found};
use super::output::{put, say, say_stderr};

#[derive(clap::Args)]
pub struct Args {
    /// The shader: SPIR-V, SPIR-V assembly (.spvasm), a shader in GLSL (.comp, .task, .mesh, .frag, .vert, …), or AmberScript
    file: PathBuf,
    /// Compare with what this module leaves for the same inputs
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Compare with what this command makes of the module, as `spirv-opt --ccp {in} -o {out}`: words with spaces between them, no shell
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["against", "device"])]
    against_by: Option<Maker>,
    /// Run it on this device too, and compare with what is determined; repeat for several. `interpreter:<planted fault>@SIZE` is one without a driver
    #[arg(long, value_name = "NAME", conflicts_with = "against")]
    device: Vec<String>,
    #[command(flatten)]
    drivers: DriverArgs,
    /// Save what differs on a device in a folder here
    #[arg(long, value_name = "DIR", requires = "device")]
    save: Option<PathBuf>,
    /// Write a smaller module that the first of the devices that fails still fails on, or that the command still changes
    #[arg(long, value_name = "FILE")]
    reduce: Option<PathBuf>,
    /// Contents of a buffer, as `0.1=zeros:64`, or of an element of an array of descriptors, as `0.1[3]=zeros:64`; repeat for several.
    /// `ramp:WORDS`, `random:SEED:BYTES` or a file; else zeros
    #[arg(long, value_name = "SET.BINDING=CONTENTS", value_parser = buffer)]
    buffer: Vec<(Place, Contents)>,
    /// Contents of a buffer at a device address, as `0x7f0000000000=zeros:64`; repeat for several. A pointer has to be in the push constants or in a
    /// buffer. With --device every number of 64 bits there that lies in one of these buffers is replaced by the address that the device has
    #[arg(long, value_name = "ADDRESS=CONTENTS", value_parser = memory)]
    memory: Vec<(u64, Contents)>,
    /// Extent of an image, as `0.1=16x16`; repeat for several. `--buffer` gives its texels, row by row; else it has 64 in each dimension
    #[arg(long, value_name = "SET.BINDING=WxHxD", value_parser = image)]
    image: Vec<((u32, u32), [u32; 3])>,
    /// How many descriptors a run-time array of descriptors has, as `0.1=16`; repeat for several. Else as many as `--buffer` names
    #[arg(long, value_name = "SET.BINDING=N", value_parser = descriptors)]
    descriptors: Vec<((u32, u32), u32)>,
    /// Contents of the push constants, in the same words
    #[arg(long, value_name = "CONTENTS")]
    push: Option<Contents>,
    /// Value of a specialisation constant; repeat for several
    #[arg(long, value_name = "ID=VALUE", value_parser = constant)]
    spec: Vec<(u32, u64)>,
    /// Workgroups to dispatch
    #[arg(long, value_name = "X,Y,Z", value_parser = workgroups, default_value = "1,1,1")]
    workgroups: Workgroups,
    /// What a shader without workgroups is run for: a framebuffer that one primitive covers, for a fragment shader, with helper invocations where a side is odd;
    /// vertices and instances, or invocations and primitives, before rasterisation
    #[arg(long, value_name = "WxH", value_parser = drawn, default_value = "8x8")]
    draw: Drawn,
    /// Words of a flat input of a fragment shader, as `1=7,8`; repeat for several. Else zeros
    #[arg(long, value_name = "LOCATION=WORDS", value_parser = flat)]
    flat: Vec<(u32, [u32; 4])>,
    /// Lanes of a subgroup
    #[arg(long, value_name = "N", value_parser = parse_subgroup_size, default_value = "32")]
    subgroup_size: u32,
    /// Judge by this tier instead of by the module's own execution modes
    #[arg(long = "as", value_name = "TIER", value_parser = tier)]
    tier: Option<Tier>,
    /// Stores of one value by several invocations to one location are no data race. The specification makes no such exception
    #[arg(long, conflicts_with = "device")]
    equal_stores: bool,
    /// The entry point, where the module has several for compute
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// What GLSL and assembly are made for: spv1.0 to spv1.6, vulkan1.0 to vulkan1.3
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,
    /// Give up after so many executed instructions
    #[arg(long, value_name = "N", default_value_t = Limits::default().steps)]
    steps: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy)]
struct Workgroups([u32; 3]);

#[derive(Clone, Copy)]
struct Drawn([u32; 2]);

/// `SET.BINDING=` and the rest.
fn binding(text: &str) -> Option<((u32, u32), &str)> {
    let (place, rest) = text.split_once('=')?;
    let (set, binding) = place.split_once('.')?;
    Some(((set.parse().ok()?, binding.parse().ok()?), rest))
}

/// Set, binding, and element of an array of descriptors if one is named.
type Place = (u32, u32, Option<u32>);

fn buffer(text: &str) -> Result<(Place, Contents), String> {
    let place = |text: &str| {
        let (set, binding) = text.split_once('.')?;
        let (binding, element) = match binding.strip_suffix(']') {
            Some(rest) => rest.split_once('[').map(|(binding, element)| (binding, Some(element)))?,
            None => (binding, None),
        };
        let element = element.map(str::parse).transpose().ok()?;
        Some((set.parse().ok()?, binding.parse().ok()?, element))
    };
    let found = text.split_once('=').and_then(|(text, contents)| Some((place(text)?, contents)));
    let (place, contents) = found.ok_or("not of the form SET.BINDING=CONTENTS or SET.BINDING[ELEMENT]=CONTENTS")?;
    contents.parse().map(|contents| (place, contents)).map_err(|error| format!("{error}"))
}

fn memory(text: &str) -> Result<(u64, Contents), String> {
    let (address, contents) = text.split_once('=').ok_or("not of the form ADDRESS=CONTENTS")?;
    let address = match address.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => address.parse(),
    };
    let address = address.map_err(|error| format!("the address: {error}"))?;
    contents.parse().map(|contents| (address, contents)).map_err(|error| format!("{error}"))
}

fn image(text: &str) -> Result<((u32, u32), [u32; 3]), String> {
    let (place, sides) = binding(text).ok_or("not of the form SET.BINDING=WxHxD")?;
    let sides: Option<Vec<u32>> = sides.split('x').map(|side| side.parse().ok().filter(|&side| side > 0)).collect();
    match sides.as_deref() {
        Some([w]) => Ok((place, [*w, 1, 1])),
        Some([w, h]) => Ok((place, [*w, *h, 1])),
        Some([w, h, d]) => Ok((place, [*w, *h, *d])),
        _ => Err("one to three positive numbers with x between them".into()),
    }
}

fn descriptors(text: &str) -> Result<((u32, u32), u32), String> {
    let found = binding(text).and_then(|(place, count)| Some((place, count.parse().ok()?)));
    found.ok_or_else(|| "not of the form SET.BINDING=N".into())
}

fn constant(text: &str) -> Result<(u32, u64), String> {
    let (id, value) = text.split_once('=').ok_or("not of the form ID=VALUE")?;
    let id = id.parse().map_err(|_| format!("'{id}' is no SpecId"))?;
    let bits = match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if value.contains('.') => value.parse::<f32>().ok().map(|value| u64::from(value.to_bits())),
        None => value.parse::<i64>().ok().map(|value| value as u64).or_else(|| value.parse().ok()),
    };
    Ok((id, bits.ok_or_else(|| format!("'{value}' is no number"))?))
}

fn workgroups(text: &str) -> Result<Workgroups, String> {
    let numbers: Option<Vec<u32>> = text.split(',').map(|part| part.parse().ok().filter(|&count| count > 0)).collect();
    match numbers.as_deref() {
        Some([x]) => Ok(Workgroups([*x, 1, 1])),
        Some([x, y]) => Ok(Workgroups([*x, *y, 1])),
        Some([x, y, z]) => Ok(Workgroups([*x, *y, *z])),
        _ => Err("one to three positive numbers with commas".into()),
    }
}

fn drawn(text: &str) -> Result<Drawn, String> {
    let sides = text.split_once('x').and_then(|(width, height)| Some([width.parse().ok()?, height.parse().ok()?]));
    let is_sensible = |sides: &[u32; 2]| sides.iter().all(|side| (1..=128).contains(side));
    sides.filter(is_sensible).map(Drawn).ok_or_else(|| "two numbers from 1 to 128 with an x between them".into())
}

fn flat(text: &str) -> Result<(u32, [u32; 4]), String> {
    let found = text.split_once('=').and_then(|(location, words)| {
        let given: Vec<u32> = words.split(',').map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let mut all = [0; 4];
        all.get_mut(..given.len())?.copy_from_slice(&given);
        Some((location.parse().ok()?, all))
    });
    found.ok_or_else(|| "not of the form LOCATION=WORDS, up to four numbers with commas".into())
}

fn tier(text: &str) -> Result<Tier, String> {
    let found = TIERS.iter().find(|(name, _)| *name == text).map(|&(_, tier)| tier);
    found.ok_or_else(|| "the tiers are plain, subgroup_uniform and maximal".into())
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    let in_file = || args.file.display().to_string();
    let is_alone =
        args.against.is_none() && args.against_by.is_none() && args.device.is_empty() && args.drivers.driver.is_empty();
    match Source::read(&args.file, args.target.as_deref())? {
        Source::Script(script) if is_alone => {
            let limits = Limits { steps: args.steps, ..Limits::default() };
            let expectations = script::run(&script, args.subgroup_size, limits).with_context(in_file)?;
            report_script(&expectations, args.json)
        }
        Source::Script(script) => {
            let (words, of_script) = script::single(&script).with_context(in_file)?;
            module(args, &words, &merged(of_script, inputs(args)?))
        }
        Source::Module(words) => module(args, &words, &inputs(args)?),
    }
}

/// What a script runs its module with, and what the command line says besides, which counts where both name something.
fn merged(of_script: Inputs, given: Inputs) -> Inputs {
    let mut inputs = Inputs {
        workgroups: of_script.workgroups,
        entry: given.entry.or(of_script.entry),
        push: if given.push.is_empty() { of_script.push } else { given.push },
        buffers: of_script.buffers,
        elements: of_script.elements,
        specialization: of_script.specialization,
        ..given
    };
    inputs.buffers.extend(given.buffers);
    inputs.elements.extend(given.elements);
    inputs.specialization.extend(given.specialization);
    inputs
}

/// The module of a file; of a script, that of its only `RUN`.
fn module_of(file: &Path, target: Option<&str>) -> anyhow::Result<Vec<u32>> {
    match Source::read(file, target)? {
        Source::Module(words) => Ok(words),
        Source::Script(script) => Ok(script::single(&script).with_context(|| file.display().to_string())?.0),
    }
}

/// A module on its own, on devices, or against another one.
fn module(args: &Args, words: &[u32], inputs: &Inputs) -> anyhow::Result<Found> {
    let other = args.against.as_ref().map(|file| anyhow::Ok((file, module_of(file, args.target.as_deref())?)));
    let other = other.transpose()?;
    let modules = std::iter::once(words).chain(other.iter().map(|(_, words)| &words[..]));
    let interfaces: Vec<Interface> = modules.filter_map(|words| interface(words, inputs).ok()).collect();
    check_fit(args, inputs, &interfaces)?;
    let judged = judge(words, inputs).map_err(|error| failed(&args.file, error))?;
    if !(args.device.is_empty() && args.drivers.driver.is_empty()) && judged.outcome.end == End::Completed {
        return on_devices(args, words, inputs, &judged);
    }
    anyhow::ensure!(
        args.reduce.is_none() || args.against_by.is_some() || judged.outcome.end != End::Completed,
        "--reduce takes a --device, or a command by --against-by: of two modules nothing says how one is made of the other"
    );
    if let Some(maker) = &args.against_by {
        return against_what_is_made(args, maker, words, inputs, &judged);
    }
    let Some((file, other)) = other else { return report(&judged, args.json) };
    let other = judge(&other, inputs);
    let found = compare_with(&judged.outcome, other.as_ref()).map_err(|error| failed(file, error))?;
    report_comparison(&found, args.json)
}

/// What a module asks for.
fn interface(words: &[u32], inputs: &Inputs) -> Result<Interface, Error> {
    Ok(Pipeline::new(&Module::parse(words)?, &inputs.pipeline_options())?.interface().clone())
}

/// What is given on the command line is something that one of the modules has. Push constants that they have and nobody gave are named: they are 0.
fn check_fit(args: &Args, inputs: &Inputs, interfaces: &[Interface]) -> anyhow::Result<()> {
    if interfaces.is_empty() {
        // Why there is none is said when it is to run.
        return Ok(());
    }
    let constants = interfaces.iter().flat_map(|interface| interface.spec_constants.iter().map(|constant| constant.id));
    let known: BTreeSet<u32> = constants.collect();
    if let Some((id, _)) = args.spec.iter().find(|(id, _)| !known.contains(id)) {
        let known: Vec<String> = known.iter().map(u32::to_string).collect();
        let there = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        anyhow::bail!("--spec {id}: the module has no specialisation constant with this SpecId; there is {there}");
    }
    let given = inputs.push.len() as u64;
    let size = interfaces.iter().map(|interface| interface.push_size).max().unwrap_or_default();
    let has_push = args.push.is_some();
    anyhow::ensure!(
        !has_push || given <= size,
        "--push has {given} bytes; the push constants of the module have {size}"
    );
    if given < size && !args.json {
        say_stderr!("note: the push constants have {size} bytes, of which {given} are given: the others are 0");
    }
    Ok(())
}

/// Compares with what a command makes of the module, and makes that small if it is asked for.
fn against_what_is_made(
    args: &Args,
    maker: &Maker,
    words: &[u32],
    inputs: &Inputs,
    judged: &Judged,
) -> anyhow::Result<Found> {
    let made = judge(&maker.make(words)?, inputs);
    let found = compare_with(&judged.outcome, made.as_ref()).with_context(|| maker.to_string())?;
    let exit = report_comparison(&found, args.json)?;
    let (Some(file), Some(difference)) = (&args.reduce, &found.0) else {
        return Ok(exit);
    };
    let small = reduce(words, Some(Instant::now() + TIME), &mut |words| {
        still_differs(words, inputs, difference, &mut |words| maker.make(words).ok())
    });
    tangle_files::write_atomically(file, &to_bytes(&small))?;
    Ok(exit)
}

/// Why a module was not judged.
fn failed(file: &Path, error: Error) -> anyhow::Error {
    let more = if let Error::Steps(..) = error { " (--steps sets the limit)" } else { "" };
    anyhow::Error::new(error).context(format!("{}{more}", file.display()))
}

/// What an option that may be repeated gives, each of its names once.
fn once<K: Copy + Ord, V>(
    given: impl IntoIterator<Item = (K, V)>,
    named: impl Fn(K) -> String,
) -> anyhow::Result<BTreeMap<K, V>> {
    let mut all = BTreeMap::new();
    for (name, value) in given {
        anyhow::ensure!(all.insert(name, value).is_none(), "{} is given twice", named(name));
    }
    Ok(all)
}

fn inputs(args: &Args) -> anyhow::Result<Inputs> {
    let (mut buffers, mut elements) = (BTreeMap::new(), BTreeMap::new());
    let named = |(set, binding, element): (u32, u32, Option<u32>)| match element {
        None => format!("--buffer {set}.{binding}"),
        Some(element) => format!("--buffer {set}.{binding}[{element}]"),
    };
    for ((set, binding, element), contents) in
        once(args.buffer.iter().map(|(name, contents)| (*name, contents)), named)?
    {
        match element {
            None => drop(buffers.insert((set, binding), contents.bytes()?)),
            Some(element) => drop(elements.insert((set, binding, element), contents.bytes()?)),
        }
    }
    let memory =
        once(args.memory.iter().map(|(address, contents)| (*address, contents)), |a| format!("--memory {a:#x}"))?;
    let memory = memory.into_iter().map(|(address, contents)| Ok((address, contents.bytes()?)));
    Ok(Inputs {
        buffers,
        elements,
        equal_stores: args.equal_stores,
        memory: memory.collect::<anyhow::Result<_>>()?,
        images: once(args.image.iter().copied(), |(set, binding)| format!("--image {set}.{binding}"))?,
        push: args.push.as_ref().map_or(Ok(Vec::new()), Contents::bytes)?,
        specialization: once(args.spec.iter().copied(), |id| format!("--spec {id}"))?,
        descriptors: once(args.descriptors.iter().copied(), |(set, binding)| format!("--descriptors {set}.{binding}"))?,
        workgroups: args.workgroups.0,
        draw: args.draw.0,
        flat: once(args.flat.iter().copied(), |location| format!("--flat {location}"))?,
        subgroup_size: args.subgroup_size,
        entry: args.entry.clone(),
        tier: args.tier,
        limits: Limits { steps: args.steps, ..Limits::default() },
    })
}

/// The devices by name. `timeout`: the most processor time for a run.
pub fn devices(drivers: &DriverArgs, names: &[String], timeout: Option<Duration>) -> anyhow::Result<Vec<Device>> {
    let is_vulkan = |name: &&String| name.split(['@', ':']).next() != Some("interpreter");
    let drivers = drivers.drivers()?;
    let probed = match names.iter().any(|name| is_vulkan(&name)) {
        true => drivers.all()?,
        false => drivers.own.clone(),
    };
    let inventory = Inventory::probe(&probed, &ProbeOptions::default());
    let own = drivers.own.iter().map(|driver| &driver.name).filter(|name| !names.contains(name));
    let open = |name: &String| {
        if !is_vulkan(&name) {
            let Interpreter { subgroup_size, fault } = name.parse()?;
            return Ok(Device::Interpreter { name: name.clone(), subgroup_size, fault });
        }
        let (driver, info) = inventory.device(name)?;
        let options = DeviceOptions { timeout, ..DeviceOptions::default() };
        Ok(Device::Vulkan(Box::new(tangle_runner::Device::open(driver, info.index, &options)?)))
    };
    own.chain(names).map(open).collect()
}

/// How long a module is made smaller if nobody says it.
pub const TIME: Duration = Duration::from_secs(120);

/// The most processor time for one candidate.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How many numbers that count as addresses are named.
const SHOWN: usize = 8;

/// How often progress is shown.
const PROGRESS: Duration = Duration::from_secs(2);

/// What is known of a device.
pub fn about(device: &Device) -> anyhow::Result<Value> {
    Ok(match device {
        Device::Vulkan(device) => serde_json::to_value(device.info())?,
        Device::Interpreter { name, .. } => Value::from(name.clone()),
    })
}

/// A smaller module that the device still fails on as it does on this one, where it gives a result in time. On the way the size is shown
/// now and then.
///
/// # Errors
/// If the device cannot be opened once more.
pub fn reduced_on(
    words: &[u32],
    inputs: &Inputs,
    drivers: &DriverArgs,
    device: &str,
    made: &Made,
    deadline: Instant,
) -> anyhow::Result<Vec<u32>> {
    // A candidate may loop for ever on a device that is wrong; one that did not end at first has to have its time.
    let timeout = matches!(made, Made::Wrong { .. }).then_some(TIMEOUT);
    let mut opened = devices(drivers, &[device.to_owned()], timeout)?;
    let at = opened.iter().position(|opened| opened.name() == device).unwrap_or(0);
    let device = opened.swap_remove(at);
    let mut reported = Instant::now();
    let mut tried = 0;
    Ok(reduce(words, Some(deadline), &mut |candidate| {
        tried += 1;
        let Ok(judged) = judge(candidate, inputs) else { return false };
        let Ok(ready) = Ready::new(candidate, inputs, &judged.interface) else { return false };
        let same = std::mem::discriminant(made) == std::mem::discriminant(&device.judge(&ready));
        let keeps = judged.outcome.end == End::Completed && same;
        if keeps && reported.elapsed() > PROGRESS {
            reported = Instant::now();
            say_stderr!("{} words -> {} words; {tried} candidates", words.len(), candidate.len());
        }
        keeps
    }))
}

fn on_devices(args: &Args, words: &[u32], inputs: &Inputs, judged: &Judged) -> anyhow::Result<Found> {
    let ready = Ready::new(words, inputs, &judged.interface).map_err(|problem| anyhow::anyhow!("{problem}"))?;
    let addresses = ready.addresses();
    if !addresses.is_empty() {
        let more = addresses.len().saturating_sub(SHOWN);
        let shown = addresses.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("; ");
        let more = if more > 0 { format!("; {more} more") } else { String::new() };
        say_stderr!("replaced by addresses of the device: {shown}{more}");
    }
    let mut something = false;
    let (mut ran, mut reduced) = (false, false);
    let mut rows = Vec::new();
    for device in devices(&args.drivers, &args.device, None)? {
        let made = device.judge(&ready);
        let wrong = matches!(made, Made::Wrong { .. } | Made::Failed(_) | Made::Undefined(_));
        something |= wrong;
        ran |= !matches!(made, Made::NotRun(_) | Made::Vacuous(_));
        if let (true, Some(folder)) = (wrong, &args.save) {
            let folder = folder.join(format!("judge-{}", device.name().replace(|c: char| !c.is_alphanumeric(), "-")));
            let finding = Finding {
                source: args.file.display().to_string(),
                device: device.name().to_owned(),
                about: about(&device)?,
                made: made.clone(),
                words: words.to_vec(),
                inputs: inputs.clone(),
            };
            finding.save(&folder)?;
            say!("  saved: {}", folder.display())?;
        }
        if let (true, Some(file)) = (made.is_failure() && !reduced, &args.reduce) {
            reduced = true;
            let small = reduced_on(words, inputs, &args.drivers, device.name(), &made, Instant::now() + TIME)?;
            tangle_files::write_atomically(file, &to_bytes(&small))?;
        }
        match args.json {
            true => rows.push(made_as_json(device.name(), &made)),
            false => put(format_args!("{}", made.text(device.name())))?,
        }
    }
    if args.json {
        say!("{}", json!({ "devices": rows }))?;
    }
    anyhow::ensure!(ran, "no device ran {}, or nothing that it leaves is determined", args.file.display());
    Ok(found(something))
}

fn made_as_json(device: &str, made: &Made) -> Value {
    let compared = |c: &Compared| json!({ "compared": c.words, "open": c.open, "different": c.different, "first": c.first, "step": c.step, "note": c.note });
    match made {
        Made::Right(words) => json!({ "device": device, "result": "right", "words": compared(words) }),
        Made::Vacuous(words) => json!({ "device": device, "result": "nothing_compared", "words": compared(words) }),
        Made::Wrong { compared: words, copy } => {
            json!({ "device": device, "result": "wrong", "words": compared(words), "copy": copy })
        }
        Made::Failed(what) => json!({ "device": device, "result": "failed", "what": what }),
        Made::Undefined(what) => json!({ "device": device, "result": "undefined_behaviour", "what": what }),
        Made::NotRun(why) => json!({ "device": device, "result": "not_run", "what": why }),
    }
}

fn found(something: bool) -> Found {
    if something { Found::Something } else { Found::Nothing }
}

fn report_script(expectations: &[Expectation], json: bool) -> anyhow::Result<Found> {
    let count = |wanted: fn(&script::Result) -> bool| expectations.iter().filter(|e| wanted(&e.result)).count();
    let holds = count(|result| matches!(result, script::Result::Holds));
    let fails = count(|result| matches!(result, script::Result::Fails(_)));
    let open = count(|result| matches!(result, script::Result::Open(_)));
    if json {
        let lines: Vec<String> = expectations.iter().map(ToString::to_string).collect();
        say!("{}", json!({ "holds": holds, "fails": fails, "open": open, "expectations": lines }))?;
    } else {
        for expectation in expectations.iter().filter(|e| e.result != script::Result::Holds) {
            say!("{expectation}")?;
        }
        say!("{holds} expectations hold, {fails} do not, {open} are not determined")?;
    }
    Ok(found(fails > 0))
}

fn report(judged: &Judged, json: bool) -> anyhow::Result<Found> {
    if json {
        say!("{}", serde_json::to_string(&as_json(judged))?)?;
    } else {
        put(format_args!("{}", as_text(judged)))?;
    }
    Ok(found(judged.outcome.end != End::Completed))
}

/// What is known of a module's run, for machines.
#[derive(Serialize)]
struct JudgedJson<'a> {
    entry: &'a str,
    tier: &'static str,
    undefined_behaviour: Option<String>,
    steps: u64,
    subgroup_operations: Operations,
    open_path: Option<String>,
    buffers: Vec<BufferJson<'a>>,
    outputs: Vec<OutputJson>,
    reasons: Vec<String>,
}

#[derive(Serialize)]
struct Operations {
    executed: u64,
    open: u64,
}

/// A buffer by its address or its descriptor.
#[derive(Serialize)]
#[serde(untagged)]
enum BufferJson<'a> {
    Address { address: u64, words: Words<'a> },
    Descriptor { set: u32, binding: u32, element: u32, words: Words<'a> },
}

/// The words of a buffer, `null` where one is open. They may be many: none of them is kept.
struct Words<'a>(&'a BufferState);

impl Serialize for Words<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((0..self.0.bytes.len() / 4).map(|word| self.0.word(4 * word)))
    }
}

/// An output of a shader without workgroups: `null` where a value is open, `false` where an invocation has none.
#[derive(Serialize)]
struct OutputJson {
    location: u32,
    index: u32,
    component: u32,
    scalars: u32,
    values: Vec<serde_json::Value>,
}

impl From<&OutputState> for OutputJson {
    fn from(output: &OutputState) -> OutputJson {
        let value = |value: &OutputValue| match *value {
            OutputValue::Determined(bits) => bits.into(),
            OutputValue::Open(_) => serde_json::Value::Null,
            OutputValue::Absent => false.into(),
        };
        let OutputState { location, index, component, scalars, ref values } = *output;
        OutputJson { location, index, component, scalars, values: values.iter().map(value).collect() }
    }
}

fn as_json(judged: &Judged) -> JudgedJson<'_> {
    let outcome = &judged.outcome;
    let buffer = |buffer| {
        let (words, &BufferState { set, binding, element, address, .. }) = (Words(buffer), buffer);
        match address {
            Some(address) => BufferJson::Address { address, words },
            None => BufferJson::Descriptor { set, binding, element, words },
        }
    };
    JudgedJson {
        entry: &judged.interface.entry,
        tier: tier_name(judged.tier),
        undefined_behaviour: match &outcome.end {
            End::Completed => None,
            End::Undefined(what) => Some(what.to_string()),
        },
        steps: outcome.steps,
        subgroup_operations: Operations { executed: outcome.tangles.0, open: outcome.tangles.1 },
        open_path: outcome.open_path.as_ref().map(ToString::to_string),
        buffers: outcome.buffers.iter().map(buffer).collect(),
        outputs: outcome.outputs.iter().map(OutputJson::from).collect(),
        reasons: outcome.reasons.iter().map(ToString::to_string).collect(),
    }
}

/// Rows of a buffer that are shown.
const ROWS: usize = 16;
/// Words in a row.
const COLUMNS: usize = 8;

fn as_text(judged: &Judged) -> String {
    let (interface, outcome) = (&judged.interface, &judged.outcome);
    let [x, y, z] = interface.workgroup_size;
    let what = match interface.is_of_draw() {
        true => format!("{:?}", interface.stage),
        false => format!("workgroup {x}x{y}x{z}"),
    };
    let mut text = format!("{}: {what}, tier {}\n", interface.entry, tier_name(judged.tier));
    match &outcome.end {
        End::Undefined(what) => {
            let _ = writeln!(text, "undefined behaviour: {what}");
            return text;
        }
        End::Completed => {
            let (executed, open) = outcome.tangles;
            let _ = writeln!(
                text,
                "{} steps, {executed} subgroup operations, {open} of them with an open tangle",
                outcome.steps
            );
        }
    }
    if outcome.lost > 0 {
        let path = outcome.open_path.as_ref().map_or("their path is not determined".into(), ToString::to_string);
        let _ = writeln!(text, "{} invocations are followed no further: {path}", outcome.lost);
    }
    for buffer in &outcome.buffers {
        let found = interface.bindings.iter().find(|b| (b.set, b.binding) == (buffer.set, buffer.binding));
        if found.is_some_and(|binding| binding.read_only || binding.kind == BindingKind::UniformBuffer) {
            continue;
        }
        let name = found.and_then(|binding| binding.name.as_deref()).unwrap_or_default();
        buffer_text(buffer, name, outcome, &mut text);
    }
    for output in &outcome.outputs {
        output_text(output, outcome, &mut text);
    }
    text
}

fn output_text(output: &OutputState, outcome: &Outcome, text: &mut String) {
    let count = |is: fn(&OutputValue) -> bool| output.values.iter().filter(|value| is(value)).count();
    let _ = writeln!(
        text,
        "\nlocation {} component {}: {} values, {} open, {} of invocations without outputs",
        output.location,
        output.component,
        output.values.len(),
        count(|value| matches!(value, OutputValue::Open(_))),
        count(|value| *value == OutputValue::Absent)
    );
    let scalars = (output.scalars as usize).max(1);
    for (invocation, values) in output.values.chunks(scalars).enumerate().take(8 * ROWS) {
        let shown: Vec<String> = values.iter().map(shown_output).collect();
        let _ = writeln!(text, "{invocation:8}: {}", shown.join(" "));
    }
    if output.values.len() > 8 * ROWS * scalars {
        let _ =
            writeln!(text, "          {} more invocations (--json has all)", output.values.len() / scalars - 8 * ROWS);
    }
    let mut why = BTreeMap::<u32, usize>::new();
    for value in &output.values {
        if let OutputValue::Open(reason) = value {
            *why.entry(*reason).or_default() += 1;
        }
    }
    for (reason, values) in why {
        let _ = writeln!(text, "  open, {values} values: {}", outcome.reasons[reason as usize - 1]);
    }
}

fn shown_output(value: &OutputValue) -> String {
    match value {
        OutputValue::Determined(bits) => format!("{bits:#x}"),
        OutputValue::Open(_) => "?".into(),
        OutputValue::Absent => "-".into(),
    }
}

fn buffer_text(buffer: &BufferState, name: &str, outcome: &Outcome, text: &mut String) {
    let words: Vec<Option<u32>> = (0..buffer.bytes.len() / 4).map(|word| buffer.word(4 * word)).collect();
    let open = words.iter().filter(|word| word.is_none()).count();
    let place = match buffer.address {
        Some(address) => format!("address {address:#x}"),
        None => format!("set {} binding {} {name}", buffer.set, buffer.binding),
    };
    let _ = writeln!(text, "\n{place}: {} words, {} determined, {open} open", words.len(), words.len() - open);
    let shown = |word: &Option<u32>| word.map_or("?".into(), |word| format!("{word:#x}"));
    for (row, words) in words.chunks(COLUMNS).enumerate().take(ROWS) {
        let cells: Vec<String> = words.iter().map(shown).collect();
        let _ = writeln!(text, "{:8}: {}", row * COLUMNS * 4, cells.join(" "));
    }
    if words.len() > ROWS * COLUMNS {
        let _ = writeln!(text, "          {} more words (--json has all)", words.len() - ROWS * COLUMNS);
    }
    let mut why = BTreeMap::<u32, (usize, usize)>::new();
    for (at, &reason) in buffer.states.iter().enumerate().filter(|(_, reason)| **reason != 0) {
        why.entry(reason).or_insert((at, 0)).1 += 1;
    }
    for (reason, (first, bytes)) in why {
        let reason = &outcome.reasons[reason as usize - 1];
        let _ = writeln!(text, "  open, {bytes} bytes from {first} on: {reason}");
    }
}

fn report_comparison((difference, counts): &(Option<Difference>, Counts), json: bool) -> anyhow::Result<Found> {
    let says = difference.as_ref().map(|difference| match difference {
        Difference::Behaviour { first, second } => format!("the first {first}; the second {second}"),
        Difference::Word { set, binding, element, offset, first, second } => {
            format!("set {set} binding {binding} element {element}, byte {offset}: {first:#x} and {second:#x}")
        }
        Difference::Output { location, invocation, scalar, first, second } => {
            let shown = |value: &Option<u64>| value.map_or_else(|| "nothing".to_owned(), |bits| format!("{bits:#x}"));
            let (first, second) = (shown(first), shown(second));
            format!("location {location}, invocation {invocation}, scalar {scalar}: {first} and {second}")
        }
        Difference::Buffers => "the modules have different buffers".to_owned(),
    });
    if json {
        let counts = json!({ "compared": counts.compared, "open": counts.open, "weaker": counts.weaker });
        say!("{}", json!({ "difference": says, "words": counts }))?;
    } else {
        if let Some(says) = &says {
            say!("different: {says}")?;
        }
        say!(
            "{} words compared, {} open in both, {} determined by one only",
            counts.compared,
            counts.open,
            counts.weaker
        )?;
    }
    Ok(found(says.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_command_line_takes() {
        assert_eq!(buffer("1.2=zeros:4").unwrap(), ((1, 2, None), Contents::Zeros(4)));
        for text in ["1=zeros:4", "1.x=zeros:4", "1.2", "1.2=ramp:x"] {
            assert!(buffer(text).is_err(), "{text}");
        }
        assert_eq!(image("1.2=4").unwrap(), ((1, 2), [4, 1, 1]));
        assert_eq!(image("0.0=4x5x6").unwrap(), ((0, 0), [4, 5, 6]));
        for text in ["0.0=", "0.0=4x0", "0.0=1x2x3x4", "0=4x4", "0.0=4,4"] {
            assert!(image(text).is_err(), "{text}");
        }
        assert_eq!(constant("3=0xff").unwrap(), (3, 255));
        assert_eq!(constant("3=-1").unwrap(), (3, u64::MAX));
        assert_eq!(constant("3=1.5").unwrap(), (3, 0x3fc0_0000));
        assert!(constant("3").is_err() && constant("x=1").is_err() && constant("3=x").is_err());
        assert_eq!(workgroups("2,3").unwrap().0, [2, 3, 1]);
        assert!(workgroups("0").is_err() && workgroups("1,1,1,1").is_err());
        assert!(tier("maximal").is_ok() && tier("most").is_err());
    }
}
