//! How the rules about defects name what they saw.

use shaderlint_hlsl::{Global, GlobalId, Type};
use shaderlint_linter::Context;
use shaderlint_simt::Iteration;

/// An element as one would write it; the index is that of the outermost dimension.
pub(crate) fn element(context: &Context<'_>, array: GlobalId, index: impl std::fmt::Display) -> String {
    let Some(Global { name, ty, .. }) = context.global(array) else {
        return "groupshared memory".to_owned();
    };
    match ty {
        Type::Array(element, _) if matches!(**element, Type::Array(..)) => {
            format!("{name}[{index}][\u{2026}]")
        }
        Type::Array(..) => format!("{name}[{index}]"),
        _ => name.clone(),
    }
}

/// When it happens, to be put after the number of the barrier interval.
pub(crate) fn pass(iteration: Option<&Iteration>) -> String {
    iteration.map_or(String::new(), |iteration| {
        let number = u64::from(iteration.number) + 1;
        let variable = iteration.variable.as_ref();
        let value = variable.map_or(String::new(), |(name, value)| format!(", {name} = {value}"));
        format!(" (pass {number} of the loop{value})")
    })
}
