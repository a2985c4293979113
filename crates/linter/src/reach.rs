//! Which functions others call.

use shaderlint_hlsl::{FunctionId, Shader, calls};

/// For each function, whether a run of one of `from` may reach it, directly or through calls.
pub(crate) fn reached(shader: &Shader, from: impl IntoIterator<Item = FunctionId>) -> Vec<bool> {
    let mut reached = vec![false; shader.functions.len()];
    let mut left: Vec<FunctionId> = from.into_iter().collect();
    while let Some(id) = left.pop() {
        let Some(reached) = reached.get_mut(id.0 as usize).filter(|reached| !**reached) else {
            continue;
        };
        *reached = true;
        let body = shader
            .functions
            .get(id.0 as usize)
            .and_then(|function| function.body.as_deref());
        left.extend(calls(body.unwrap_or_default()));
    }
    reached
}
