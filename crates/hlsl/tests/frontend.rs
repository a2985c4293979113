//! The language, theme by theme: every file of `fixtures/frontend` is read without a problem and without a gap, and
//! its tree is the one beside it.
#![expect(clippy::disallowed_methods, reason = "fixtures are files")]
#![expect(clippy::unwrap_used, reason = "a test that cannot read the fixtures fails")]

#[path = "outlines/print.rs"]
mod print;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use print::outline;
use shaderlint_hlsl::{Expr, ExprKind, NoIncludes, Shader, StmtKind, expressions, read, statements};

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/frontend");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "hlsl"))
        .collect();
    paths.sort();
    paths
}

/// The text of what was not understood, one a line.
fn gaps(shader: &Shader) -> String {
    let mut gaps = String::new();
    let mut say = |span: shaderlint_hlsl::Span| {
        let _ = writeln!(
            gaps,
            "  opaque: {}",
            String::from_utf8_lossy(span.slice(&shader.text))
        );
    };
    let is_opaque = |expr: &&Expr| matches!(expr.kind, ExprKind::Opaque(_));
    for function in &shader.functions {
        let body = function.body.as_deref().unwrap_or_default();
        for statement in statements(body).filter(|stmt| matches!(stmt.kind, StmtKind::Opaque)) {
            say(statement.span);
        }
        let defaults = function
            .parameters
            .iter()
            .filter_map(|parameter| parameter.default.as_ref());
        for expr in expressions(body).chain(defaults.flat_map(Expr::descendants)) {
            if is_opaque(&expr) {
                say(expr.span);
            }
        }
    }
    for init in shader.globals.iter().filter_map(|global| global.init.as_ref()) {
        init.descendants()
            .filter(is_opaque)
            .for_each(|expr| say(expr.span));
    }
    gaps
}

/// Where neither what a kernel computes nor what the engine finds in it says how it was read, its outline does.
#[test]
fn trees_are_what_they_were() {
    for path in fixtures() {
        let text = fs::read(&path).unwrap();
        let tree = path.with_extension("tree");
        let says = |word: &[u8]| text.windows(word.len()).any(|window| window == word);
        assert!(
            tree.exists() || says(b"// Out: ") || says(b"// finds: "),
            "{} has no expectation",
            path.display()
        );
        if tree.exists() {
            let (shader, _) = read("fixture.hlsl", &text, &[], &NoIncludes);
            snapbox::Assert::new()
                .action_env(snapbox::assert::DEFAULT_ACTION_ENV)
                .eq(outline(&shader), snapbox::Data::read_from(&tree, None));
        }
    }
}

#[test]
fn the_language_is_read_whole() {
    let mut wrong = String::new();
    for path in fixtures() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (shader, problems) = read(&name, fs::read(&path).unwrap(), &[], &NoIncludes);
        let mut found = String::new();
        for problem in problems {
            let _ = writeln!(found, "  {}: {:?}", problem.message, problem.place);
        }
        found += &gaps(&shader);
        if !found.is_empty() {
            let _ = writeln!(wrong, "{name}:\n{found}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
