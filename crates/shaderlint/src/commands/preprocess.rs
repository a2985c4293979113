//! `shaderlint preprocess FILE`: the text that the parser sees.

use std::fmt::Write;

use anyhow::{Result, anyhow};
use shaderlint_hlsl::{Preprocessed, Span};

use crate::cli::{Outcome, PreprocessArgs};
use crate::support::definition::overlaid;
use crate::support::source_text::SourceTexts;
use crate::support::{snippets, terminal};
use crate::workspace::config::{Project, Variant};
use crate::workspace::project_file::ProjectFile;

/// Prints the file with its includes and macros expanded.
pub(crate) fn run(args: &PreprocessArgs) -> Result<Outcome> {
    let file = ProjectFile::read(&args.file, &args.source)?;
    let search = file.search();
    let path = file.path.display().to_string();
    let base = file.project.defines_of(&file.text);
    let defines = match &args.variant {
        None => base,
        Some(name) => overlaid(&base, &variant(&file.project, name)?.defines),
    };
    let (unit, mut problems) = shaderlint_hlsl::preprocess(&path, &file.text, &defines, &search);
    let lookups = search.into_lookups();
    lookups.explain(&unit.sources, &mut problems);
    problems.extend(lookups.choices(&unit.sources));
    terminal::print(&if args.origins {
        with_origins(&unit)
    } else {
        unit.text.clone()
    })?;
    for problem in &problems {
        snippets::problem(&unit.sources, problem);
    }
    Ok(Outcome::Clean)
}

fn variant<'a>(project: &'a Project, name: &str) -> Result<&'a Variant> {
    let mut variants = project.variants.iter();
    variants.find(|variant| variant.name == name).ok_or_else(|| {
        let names: Vec<&str> = project
            .variants
            .iter()
            .map(|variant| variant.name.as_str())
            .collect();
        match &names[..] {
            [] => anyhow!("no variant is called `{name}`: the configuration has none"),
            _ => anyhow!(
                "no variant is called `{name}`: expected one of {}",
                names.join(", ")
            ),
        }
    })
}

/// The text with a `#line` before each line that does not follow its predecessor in the source.
fn with_origins(unit: &Preprocessed) -> Vec<u8> {
    let texts = SourceTexts::new(&unit.sources);
    let mut shown = Vec::with_capacity(unit.text.len());
    // The file and line that the reader expects next.
    let mut expected = None;
    let mut start = 0;
    for line in unit.text.split_inclusive(|byte| *byte == b'\n') {
        let blank = line.len() - line.trim_ascii_start().len();
        let first = u32::try_from(start + blank).unwrap_or(u32::MAX);
        start += line.len();
        let span = Span {
            start: first,
            end: first.saturating_add(1),
        };
        // A blank line has no definite origin.
        let place = if blank == line.len() {
            None
        } else {
            unit.origins.locate(span)
        };
        let here = place.and_then(|place| Some((place.file, texts.get(place.file)?.place(place.start).line)));
        if let Some((file, number)) = here.filter(|here| expected != Some(*here)) {
            let name = texts.get(file).map_or("", |text| text.name.as_str());
            let mut directive = String::new();
            let _ = writeln!(directive, "#line {number} \"{}\"", name.replace('\\', "/"));
            shown.extend_from_slice(directive.as_bytes());
        }
        expected = here.or(expected).map(|(file, number)| (file, number + 1));
        shown.extend_from_slice(line);
    }
    shown
}
