//! From a conclusion to a finding that can be saved, and to words.

use tangle_identity::Signature;
use tangle_identity::failure::{ToolFault, ToolStep};
use tangle_program::case::Case;
use tangle_report::Finding;
use tangle_report::story::story;
use tangle_runner::{Outcome, toolchain};

use crate::prepare::{Prep, Prepared};
use crate::target::{Conclusion, Finish, Target};

/// Everything there is to save about a conclusion that is a finding.
pub fn finding<'a>(
    target: &'a Target,
    prep: &'a Prep,
    conclusion: &'a Conclusion,
    signature: Signature,
) -> Finding<'a> {
    let (case, glsl, spirv): (_, _, &[u32]) = match prep {
        Prep::Ready(Prepared { case, shader, spirv }) => (case, shader, spirv),
        Prep::Faulty(case, fault) => (case, &fault.shader, &[]),
    };
    // A module without disassembly is still worth saving.
    let disassembly = toolchain::read(spirv).unwrap_or_else(|error| format!("; {error}\n"));
    Finding {
        case,
        glsl,
        spirv,
        disassembly,
        result: serde_json::to_value(&conclusion.finish).unwrap_or_default(),
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

/// What came of a case, in words.
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
        Finish::Failed(outcome) => match outcome {
            Outcome::Crashed { stderr, .. }
            | Outcome::TimedOut { stderr, .. }
            | Outcome::OutOfMemory { stderr, .. }
                if !stderr.is_empty() =>
            {
                format!("{outcome}\nthe worker's stderr:\n{stderr}")
            }
            outcome => outcome.to_string(),
        },
    }
}

/// What a step of the toolchain said, whole.
fn said(step: ToolStep, message: &str) -> String {
    let first = ToolFault { step, message: String::new() };
    format!("{first}{message}")
}
