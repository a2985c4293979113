//! Which globals a run can reach: it sets up no others.

use std::collections::BTreeSet;
use std::sync::Arc;

use shaderlint_hlsl::{Expr, ExprKind, FunctionId, GlobalId, Shader};

use crate::facts::effects::EffectsCache;

/// The effects of initialising the globals.
pub(crate) struct Beginning {
    /// An initialiser changes another global. The order of initialisation is not followed.
    pub has_effects: bool,
    /// An initialiser calls unknown code.
    calls_unknown: bool,
}

impl Beginning {
    pub fn of(shader: &Shader) -> Arc<Beginning> {
        shader.once(|shader| {
            let mut effects = EffectsCache::default();
            let values = || shader.globals.iter().filter_map(|global| global.init.as_ref());
            let has_effects = values().flat_map(Expr::descendants).any(|expr| match expr.kind {
                ExprKind::Assign { .. } | ExprKind::Step { .. } => true,
                ExprKind::Call(function, _) => {
                    let effects = effects.of_function(shader, function);
                    !effects.statics.is_empty() || effects.opaque || effects.touches_shared()
                }
                _ => false,
            });
            Beginning {
                has_effects,
                calls_unknown: values().any(|value| effects.calls_unknown(shader, value)),
            }
        })
    }
}

/// The globals that a run of a function can reach.
pub(crate) enum Named {
    /// The function may call unknown code, which may reach any global.
    All,
    These(BTreeSet<GlobalId>),
}

impl Named {
    /// The globals that the text of the function and of the functions it calls names, and those that the initialisers
    /// of these name.
    pub fn by(shader: &Shader, function: FunctionId) -> Named {
        let beginning = Beginning::of(shader);
        let mut cache = EffectsCache::default();
        let effects = cache.of_function(shader, function);
        if effects.calls_unknown || effects.opaque || beginning.has_effects || beginning.calls_unknown {
            return Named::All;
        }
        let mut named = effects.globals;
        let mut waiting: Vec<GlobalId> = named.iter().copied().collect();
        while let Some(global) = waiting.pop() {
            let init = shader
                .globals
                .get(global.0 as usize)
                .and_then(|global| global.init.as_ref());
            if let Some(init) = init {
                let of_init = cache.of_expression(shader, init).globals;
                waiting.extend(of_init.difference(&named));
                named.extend(&of_init);
            }
        }
        Named::These(named)
    }

    pub fn ids(&self, shader: &Shader) -> Vec<GlobalId> {
        match self {
            Named::All => (0..shader.globals.len() as u32).map(GlobalId).collect(),
            Named::These(ids) => ids.iter().copied().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a run of the one function with a body can come to.
    fn named(text: &str) -> Vec<String> {
        let (shader, _) = shaderlint_hlsl::parse(text.as_bytes().to_vec());
        let main = shader
            .functions
            .iter()
            .position(|function| function.name == "main");
        let main = FunctionId(main.expect("main") as u32);
        let ids = Named::by(&shader, main).ids(&shader);
        ids.iter()
            .map(|id| shader.globals[id.0 as usize].name.clone())
            .collect()
    }

    const GLOBALS: &str = "static uint a = 1; static uint b = a; groupshared uint g[64]; static uint c;\n";

    #[test]
    fn what_is_named_and_what_that_begins_with() {
        assert_eq!(
            named(&format!("{GLOBALS}void main() {{ g[0] = b; }}")),
            ["a", "b", "g"]
        );
        let through = "void f() { c = 1; }\nvoid main() { f(); }";
        assert_eq!(named(&format!("{GLOBALS}{through}")), ["c"]);
    }

    #[test]
    fn what_is_not_there_may_come_to_all() {
        let all = ["a", "b", "g", "c"];
        assert_eq!(named(&format!("{GLOBALS}void main() {{ missing(); }}")), all);
        let begins = "uint f() { c = 1; return 2; }\nstatic uint d = f();\nvoid main() { a = 1; }";
        assert_eq!(named(&format!("{GLOBALS}{begins}")), ["a", "b", "g", "c", "d"]);
    }
}
