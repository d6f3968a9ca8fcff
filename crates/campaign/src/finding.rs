//! From a conclusion to a finding that can be saved, and to words.

use tangle_identity::Signature;
use tangle_identity::failure::{ToolFault, ToolStep};
use tangle_program::case::Case;
use tangle_report::Finding;
use tangle_report::story::story;
use tangle_runner::stack::{split, without_paths};
use tangle_runner::{Outcome, toolchain};

use crate::prepare::{Prep, Prepared};
use crate::stack;
use crate::target::{Conclusion, Finish, Target};

/// Everything there is to save about a conclusion that is a finding.
pub fn finding<'a>(
    target: &'a Target,
    prep: &'a Prep,
    conclusion: &'a Conclusion,
    signature: Signature,
) -> Finding<'a> {
    let (case, source, spirv): (_, _, &[u32]) = match prep {
        Prep::Ready(Prepared { case, shader, spirv }) => (case, shader, spirv),
        Prep::Faulty(case, fault) => (case, &fault.shader, &[]),
    };
    // A module without disassembly is still worth saving.
    let disassembly = toolchain::read(spirv).unwrap_or_else(|error| format!("; {error}\n"));
    Finding {
        case,
        source,
        spirv,
        disassembly,
        result: saved(&conclusion.finish),
        observation: conclusion.observation.as_ref(),
        number: None,
        device: &target.name,
        device_info: target.info.clone(),
        report: report(target, case, conclusion, &signature),
        signature,
    }
}

fn report(target: &Target, case: &Case, conclusion: &Conclusion, signature: &Signature) -> String {
    let variant = match case.variant.is_unoptimised() {
        true => String::new(),
        false => format!("variant {}\n\n", case.variant),
    };
    format!("{} on {}\n\n{variant}{}\n", signature, target.name, describe(case, &conclusion.finish))
}

/// The result of a case, in words.
pub fn describe(case: &Case, finish: &Finish) -> String {
    match finish {
        Finish::Judged(judgement) => story(case, judgement),
        Finish::Compiled => "compiled; the device runs nothing".into(),
        Finish::Unsupported { missing } => format!("not run: the device lacks {}", missing.join(", ")),
        Finish::Fatal { how } => {
            format!("{how} when this case ran, and again when it ran alone; it is not run any more")
        }
        Finish::NoWorker { reason } => format!("not run: {reason}"),
        Finish::Toolchain { step, message } => said(*step, message),
        Finish::Undefined { rule, place } => said(ToolStep::Execute, &format!("{rule}\n{place}")),
        Finish::Endless { place } => said(ToolStep::Endless, place),
        Finish::Failed(outcome) => match outcome {
            Outcome::Crashed { stderr, .. } => crash(&outcome.to_string(), stderr),
            Outcome::TimedOut { stderr, .. } | Outcome::OutOfMemory { stderr, .. } => {
                with_stderr(outcome.to_string(), stderr)
            }
            outcome => outcome.to_string(),
        },
    }
}

/// A crash: where it was, and what the driver wrote.
fn crash(outcome: &str, stderr: &str) -> String {
    let (frames, said) = split(stderr);
    let mut text = outcome.to_owned();
    if !frames.is_empty() {
        text = format!("{text}\nthe calls that led there, the innermost first:\n{}", stack::describe(&frames));
        text.truncate(text.trim_end().len());
    }
    with_stderr(text, &said)
}

fn with_stderr(text: String, stderr: &str) -> String {
    if stderr.is_empty() { text } else { format!("{text}\nthe worker's stderr:\n{stderr}") }
}

/// What there is to save of an outcome: without the paths of this machine's libraries.
fn saved(finish: &Finish) -> serde_json::Value {
    let mut finish = finish.clone();
    if let Finish::Failed(Outcome::Crashed { stderr, .. }) = &mut finish {
        *stderr = without_paths(stderr);
    }
    serde_json::to_value(&finish).unwrap_or_default()
}

/// What a step of the toolchain said, whole.
fn said(step: ToolStep, message: &str) -> String {
    let first = ToolFault { step, message: String::new() };
    format!("{first}{message}")
}
