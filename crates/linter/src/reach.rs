//! Which functions an entry point calls.

use shaderlint_hlsl::{FunctionId, Shader, calls};

/// Whether a run of `entry` may get to `target`, directly or through calls.
pub(crate) fn reaches(shader: &Shader, entry: FunctionId, target: FunctionId) -> bool {
    let mut seen = vec![false; shader.functions.len()];
    let mut left = vec![entry];
    while let Some(id) = left.pop() {
        if id == target {
            return true;
        }
        let Some(seen) = seen.get_mut(id.0 as usize).filter(|seen| !**seen) else {
            continue;
        };
        *seen = true;
        let body = shader
            .functions
            .get(id.0 as usize)
            .and_then(|function| function.body.as_deref());
        left.extend(calls(body.unwrap_or_default()));
    }
    false
}
