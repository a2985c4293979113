//! A unit read anew with edits in it holds what an entry point names, and nothing else.

#[path = "outlines/print.rs"]
mod print;

use print::outline;
use shaderlint_hlsl::{Edited, FunctionId, Shader, Span, Splice, parse};

fn entry_of(shader: &Shader, name: &str) -> FunctionId {
    let mut entries = shader
        .entry_points()
        .filter(|(_, function)| function.name == name);
    entries.next().expect("an entry point of that name").0
}

/// What is made of the first place in the text.
fn splice(text: &str, old: &str, new: &str) -> Splice {
    let start = text.find(old).expect("the text to replace") as u32;
    Splice {
        span: Span {
            start,
            end: start + old.len() as u32,
        },
        text: new.to_owned(),
    }
}

/// Names of the functions, variables and structs of a part.
fn names(shader: &Shader) -> Vec<&str> {
    let functions = shader.functions.iter().map(|function| &*function.name);
    let globals = shader.globals.iter().map(|global| &*global.name);
    let structs = shader
        .structs
        .iter()
        .map(|one| &*one.name)
        .filter(|name| *name != "RayDesc");
    let mut names: Vec<&str> = functions.chain(globals).chain(structs).collect();
    names.sort_unstable();
    names
}

/// What is read for `main` if `old` becomes `new`. What the whole unit has of it is the same.
#[track_caller]
fn check(text: &str, (old, new): (&str, &str), expected: &[&str]) {
    let (shader, problems) = parse(text.as_bytes().to_vec());
    assert_eq!(problems, []);
    let edited = Edited::new(&shader, vec![splice(text, old, new)]).expect("a splice in the text");
    let entry = entry_of(&shader, "main");
    let part = edited.part(entry).expect("a part");
    assert_eq!(names(&part), expected);
    let whole = edited.whole();
    assert_eq!(String::from_utf8_lossy(&whole.text), text.replacen(old, new, 1));
    let of_whole = outline(&whole);
    let of_whole: Vec<&str> = of_whole.lines().collect();
    for line in outline(&part).lines() {
        assert!(of_whole.contains(&line), "{line} is not in\n{of_whole:?}");
    }
}

const MAIN: &str = "[numthreads(64, 1, 1)] void main(uint i : SV_GroupIndex) { g[i] = 1; }\n";

#[test]
fn only_what_the_entry_point_names_is_read() {
    let text = format!(
        "groupshared uint g[64], h[64];\ngroupshared uint other[64];\nuint helper(uint a) {{ return a; }}\n\
         struct Unused {{ uint a; }};\n{MAIN}[numthreads(64, 1, 1)] void next() {{ other[0] = helper(1); }}\n"
    );
    check(&text, ("= 1", "= 2"), &["g", "h", "main"]);
}

#[test]
fn what_the_edit_names_is_read() {
    let text = format!(
        "groupshared uint g[64];\nstatic const uint K = 3;\nuint twice(uint a) {{ return K * a; }}\n\
         uint thrice(uint a) {{ return a; }}\n{MAIN}"
    );
    check(&text, ("= 1", "= twice(1)"), &["K", "g", "main", "twice"]);
}

#[test]
fn what_the_edit_declares_is_read() {
    let text = format!("groupshared uint g[64];\nuint other(uint a) {{ return a; }}\n{MAIN}");
    check(
        &text,
        ("uint g[64];", "uint g[64];\ngroupshared uint totals[4];\n"),
        &["g", "main", "totals"],
    );
}

#[test]
fn namespaces_and_buffers_stay_around_what_is_read() {
    let text = format!(
        "cbuffer Constants {{ uint unused; uint used; }};\nnamespace A {{ uint f() {{ return used; }} uint o() {{ \
         return 1; }} }}\nnamespace B {{ uint f() {{ return 2; }} }}\ngroupshared uint g[64];\n{MAIN}"
    );
    check(&text, ("= 1", "= A::f()"), &["f", "f", "g", "main", "used"]);
}

#[test]
fn an_entry_point_in_a_namespace_is_read() {
    let text = "namespace A { groupshared uint g[64]; uint o() { return 1; }\n\
                [numthreads(64, 1, 1)] void main(uint i : SV_GroupIndex) { g[i] = 1; } }\nuint p() { return 2; }\n";
    let (shader, _) = parse(text.as_bytes().to_vec());
    let edited = Edited::new(&shader, vec![splice(text, "= 1;", "= 2;")]).expect("a splice in the text");
    let part = edited.part(entry_of(&shader, "main")).expect("a part");
    assert_eq!(names(&part), ["A::g", "main"]);
}

#[test]
fn overloads_are_all_read() {
    let text = format!(
        "groupshared uint g[64];\nuint f(uint a) {{ return a; }}\nuint f(float a) {{ return 1; }}\nuint o() {{ return \
         1; }}\n{MAIN}"
    );
    check(&text, ("= 1", "= f(1.0)"), &["f", "f", "g", "main"]);
}

#[test]
fn static_members_and_methods_given_outside_are_read() {
    let text = format!(
        "struct S {{ static const uint k; uint a; uint get(); }};\nstatic const uint S::k = 4;\nuint S::get() {{ return \
         helper(a); }}\nuint helper(uint a) {{ return a; }}\nuint o() {{ return 1; }}\ngroupshared uint g[64];\n{MAIN}"
    )
    .replace("uint helper(uint a) { return a; }\n", "")
    .replace("struct S {", "uint helper(uint a) { return a; }\nstruct S {");
    let (shader, _) = parse(text.as_bytes().to_vec());
    let edited = Edited::new(&shader, vec![splice(&text, "= 1; }\n", "= S::k; }\n")]).expect("a splice");
    let part = edited.part(entry_of(&shader, "main")).expect("a part");
    let whole = edited.whole();
    let without_o: Vec<&str> = names(&whole).into_iter().filter(|name| *name != "o").collect();
    assert_eq!(names(&part), without_o);
}

#[test]
fn types_and_templates_are_read_with_what_they_are_made_of() {
    let text = format!(
        "typedef uint Word;\nenum Kind {{ One = 1, Two = 2 }};\nenum Other {{ Three = 3 }};\nstruct Pair {{ Word a; Word b; \
         }};\nstruct Alone {{ uint a; }};\ntemplate<typename T> T twice(T a) {{ return a + a; }}\ngroupshared uint \
         g[64];\n{MAIN}"
    );
    check(
        &text,
        (
            "g[i] = 1;",
            "Pair p; p.a = twice<uint>(Two); p.b = 1; g[i] = p.a;",
        ),
        &["Pair", "g", "main", "twice"],
    );
}

#[test]
fn a_variable_that_changes_another_by_being_made_is_read() {
    let text = format!(
        "static uint count = 0;\nuint next() {{ count = count + 1; return count; }}\nstatic uint first = next();\n\
         groupshared uint g[64];\n{MAIN}"
    );
    check(&text, ("= 1", "= 2"), &["count", "first", "g", "main", "next"]);
}

#[test]
fn no_part_is_told_from_the_rest_where_brackets_do_not_match() {
    let text = format!("groupshared uint g[64];\nvoid broken() {{ if (1 {{ }}\n{MAIN}");
    let (shader, _) = parse(text.as_bytes().to_vec());
    let edited = Edited::new(&shader, vec![splice(&text, "= 1;", "= 2;")]).expect("a splice in the text");
    assert!(edited.part(entry_of(&shader, "main")).is_none());
}

#[test]
fn splices_outside_of_the_text_and_in_each_other_are_refused() {
    let (shader, _) = parse(MAIN.as_bytes().to_vec());
    let splice = |start, end| Splice {
        span: Span { start, end },
        text: String::new(),
    };
    let end = MAIN.len() as u32;
    assert!(Edited::new(&shader, vec![splice(end, end)]).is_some());
    assert!(Edited::new(&shader, vec![splice(end, end + 1)]).is_none());
    assert!(Edited::new(&shader, vec![splice(0, 3), splice(2, 4)]).is_none());
    assert!(Edited::new(&shader, vec![splice(0, 3), splice(3, 4)]).is_some());
}

/// What is not read takes no name from a variable that has none of its own.
#[test]
fn static_variables_are_called_the_same() {
    let text = format!(
        "float o() {{ static const float t[2] = {{ 1, 2 }}; return t[1]; }}\ngroupshared uint g[64];\n\
         uint f(uint a) {{ static uint n; n += a; return n; }}\n{MAIN}"
    );
    let (whole, _) = parse(text.as_bytes().to_vec());
    let edited = Edited::new(&whole, vec![splice(&text, "= 1", "= f(1)")]).expect("a splice in the text");
    let part = edited.part(entry_of(&whole, "main")).expect("a part");
    let statics = |shader: &Shader| -> Vec<String> {
        let globals = shader.globals.iter().map(|global| global.name.clone());
        globals.filter(|name| name.starts_with("n ")).collect()
    };
    assert_eq!(statics(&part), ["n [static 0 of f]"]);
    assert_eq!(statics(&part), statics(&whole));
}
