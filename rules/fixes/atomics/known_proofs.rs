//! Forms of atomics that were proved before.
//!
//! A file is read in several configurations, and its text again for each file that includes it, so most proofs recur.
//! [`serves_alike`](shaderlint_simt::serves_alike) proves something about two statements alone. Whatever else the
//! kernel does, these mean the same where
//! - their texts are the same,
//! - the local variables that they name have the same types; each value of these is tried, whatever it was before,
//! - the declarations that they name are the same, and those that these name in turn ([`Shader::needed_by`]),
//! - nothing else gives their words a meaning: no type that the function declares, no member of a struct that has the
//!   function as its method.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{LazyLock, Mutex, PoisonError};

use rustc_hash::FxHashSet;
use shaderlint_hlsl::{Function, Shader, Type};
use shaderlint_simt::{ContendedAtomic, Parts};

use crate::source::words::words;

/// The most proofs to keep; then all are forgotten.
const MAX_KNOWN: usize = 1 << 14;

static KNOWN: LazyLock<Mutex<FxHashSet<u64>>> = LazyLock::new(Mutex::default);

/// The subject of a proof.
#[derive(Clone, Copy)]
pub(crate) struct Subject(u64);

impl Subject {
    /// The statement of a claim's call, and the text that is to replace it in the expanded text. `None` where the
    /// proof may depend on more.
    pub fn of(shader: &Shader, claim: &ContendedAtomic, parts: &Parts, form: &str) -> Option<Subject> {
        let function = shader.functions.get(claim.function.0 as usize)?;
        let is_plain = shader.gaps.is_empty() && shader.matrix_orders.is_empty();
        if !is_plain
            || function.name.contains("::")
            || function.is_instance
            || declares_type(shader, function)
        {
            return None;
        }
        let statement = parts.statement.slice(&shader.text);
        let texts = [statement, form.as_bytes()];
        let named: FxHashSet<&[u8]> = texts.into_iter().flat_map(words).collect();
        let mut hasher = DefaultHasher::new();
        (shader.version, texts, parts.is_alone).hash(&mut hasher);
        let mut locals = FxHashSet::default();
        for (number, local) in (0..).zip(&function.locals) {
            if local.span.start >= parts.statement.start || !named.contains(local.name.as_bytes()) {
                continue;
            }
            // Which of them is meant depends on where they are declared.
            let is_global = shader
                .globals
                .iter()
                .any(|global| global.own_name() == local.name);
            if is_global || !locals.insert(&local.name) || !is_built_in(&local.ty) {
                return None;
            }
            let is_unused = parts.unused.is_some_and(|unused| unused.0 == number);
            (&local.name, format!("{:?}", local.ty), is_unused).hash(&mut hasher);
        }
        for span in shader.needed_by(&texts)? {
            span.slice(&shader.text).hash(&mut hasher);
        }
        Some(Subject(hasher.finish()))
    }

    pub fn is_proved(self) -> bool {
        KNOWN
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&self.0)
    }

    pub fn note_proof(self) {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(self.0);
    }
}

fn declares_type(shader: &Shader, function: &Function) -> bool {
    let mut words = words(function.span.slice(&shader.text));
    words.any(|word| matches!(word, b"struct" | b"class" | b"enum" | b"typedef" | b"using"))
}

fn is_built_in(ty: &Type) -> bool {
    match ty {
        Type::Array(element, _) => is_built_in(element),
        Type::Resource(_, element) => element.as_ref().is_none_or(|element| is_built_in(element)),
        Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use shaderlint_hlsl::parse;
    use shaderlint_simt::analyze;

    use super::*;

    const KERNEL: &str =
        "RWStructuredBuffer<uint> Count; RWStructuredBuffer<uint> Out; static const uint K = 3;
uint Other(uint x) { return x; } uint Twice(uint x) { return x + x; }
[numthreads(64, 1, 1)] void main(uint id : SV_DispatchThreadID)
{
    uint a = id; uint slot;
    if (a > 3) { InterlockedAdd(Count[0], Twice(a), slot); Out[slot] = a; }
}";
    const CALL: &str = "InterlockedAdd(Count[0], Twice(a), slot);";

    /// The subject of a proof that this form may replace the kernel's atomic.
    #[track_caller]
    fn subject(text: &str, form: &str) -> Option<u64> {
        let (shader, problems) = parse(text.into());
        assert!(problems.is_empty(), "{text}");
        let (entry, _) = shader.entry_points().next().expect("a kernel");
        let analysis = analyze(&shader, entry);
        let claim = analysis.contended_atomics.first().expect("an atomic");
        let parts = claim.parts.as_ref().expect("one that may be combined");
        Some(Subject::of(&shader, claim, parts, form)?.0)
    }

    #[test]
    fn the_rest_of_the_kernel_is_no_matter() {
        let known = subject(KERNEL, "f(a);");
        assert!(known.is_some());
        for (old, new) in [
            ("a > 3", "a > 4"),
            ("= a; }", "= a + K; }"),
            ("uint a = id;", "uint b = 1; uint a = id + b;"),
            ("return x; }", "return x + 1; }"),
        ] {
            assert_eq!(subject(&KERNEL.replacen(old, new, 1), "f(a);"), known, "{new}");
        }
    }

    #[test]
    fn all_that_the_statements_mean_is() {
        let known = subject(KERNEL, "f(a);");
        assert_ne!(subject(KERNEL, "f(slot);"), known);
        for (old, new) in [
            (CALL, "InterlockedAdd(Count[1], Twice(a), slot);"),
            ("return x + x;", "return x + x + K;"),
            ("return x + x;", "return Other(x);"),
            ("uint a = id;", "uint2 a = id;"),
            ("RWStructuredBuffer<uint> Count;", "RWBuffer<uint> Count;"),
            (CALL, "{ InterlockedAdd(Count[0], Twice(a), slot); }"),
            // Nobody uses it.
            ("Out[slot] = a;", ""),
        ] {
            assert_ne!(subject(&KERNEL.replacen(old, new, 1), "f(a);"), known, "{new}");
        }
        // By way of what is named.
        let through = KERNEL.replace("return x + x;", "return Other(x);");
        let other = through.replace("return x; }", "return x + 1; }");
        assert_ne!(subject(&through, "f(a);"), subject(&other, "f(a);"));
        // What the form alone names.
        let other = KERNEL.replace("return x; }", "return x + 1; }");
        assert_ne!(subject(KERNEL, "Other(a);"), subject(&other, "Other(a);"));
    }

    #[test]
    fn what_a_name_means_may_hang_on_more() {
        for (old, new) in [
            ("uint a = id;", "{ float a = 1; } uint a = id;"),
            ("uint a = id;", "typedef uint T; T a = id;"),
            (
                "static const uint K",
                "static const uint a = 2; static const uint K",
            ),
            ("uint slot;", "uint slot; struct { uint a; } s;"),
        ] {
            assert_eq!(subject(&KERNEL.replacen(old, new, 1), "f(a);"), None, "{new}");
        }
    }
}
