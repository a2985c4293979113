//! `shaderlint init`: writes a first `shaderlint.toml`.

mod survey;

use std::fmt::Write;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::cli::{InitArgs, Outcome};
use crate::report::counted;
use crate::support::paths::shown;
use crate::support::terminal;
use crate::workspace::config::shaderlint_toml;
use survey::{Named, Survey};

/// Writes the file and prints a summary of it.
pub(crate) fn run(args: &InitArgs) -> Result<Outcome> {
    let folder = args.folder.as_deref().unwrap_or(Path::new("."));
    ensure!(folder.is_dir(), "{}: no such folder", folder.display());
    let [name, _] = shaderlint_toml::NAMES;
    if !args.stdout {
        let mut known = shaderlint_toml::NAMES.iter().map(|name| folder.join(name));
        if let Some(known) = known.find(|path| path.symlink_metadata().is_ok()) {
            anyhow::bail!("{} is there already", shown(&known).display());
        }
    }
    let survey = Survey::of(folder);
    let text = configuration(&survey);
    if args.stdout {
        terminal::print(text.as_bytes())?;
        return Ok(Outcome::Clean);
    }
    let path = shown(&folder.join(name));
    let written = OpenOptions::new().write(true).create_new(true).open(&path);
    let written = written.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| path.display().to_string())?;
    terminal::print(summary(&path, &survey).as_bytes())?;
    Ok(Outcome::Clean)
}

/// The text of the file: the settings found, and the other settings as comments.
fn configuration(survey: &Survey) -> String {
    let mut text = String::from(
        "# What shaderlint does in this folder and below; `shaderlint --show-settings FILE` shows it.\n\n",
    );
    text.push_str("# The target of the shaders; by default the one that a file asks for, or else cs_6_0.\n");
    text.push_str(&setting("profile", &survey.profiles, "cs_6_6"));
    text.push_str(
        "\n[target]\n# The version of HLSL (-HV of DXC); without it, proofs hold for every \
         version.\n",
    );
    text.push_str(&setting("hlsl", &survey.versions, "2021"));
    text.push_str(
        "\n[fix]\n# How fixes rewrite ladders: a function and a call of it, or all in place, \
         which may be faster.\n",
    );
    text.push_str("# form = \"inline\"\n");
    text.push_str("\n[files]\n# exclude = [\"third_party/\"]\n");
    text.push_str(
        "\n[preprocess]\n# Macros that the build defines for every shader.\n# defines = [\"FAST\", \
         \"MODE=2\"]\n",
    );
    text.push_str(
        "# Folders of included files, guessed from names; compare them with the -I of the build.\n",
    );
    if survey.include_dirs.is_empty() {
        text.push_str("# include-dirs = [\"include\"]\n");
    } else {
        text.push_str("include-dirs = [\n");
        for found in &survey.include_dirs {
            let count = counted(found.count, "include", "includes");
            let _ = writeln!(text, "    {},  # {count}", quoted(&found.path));
        }
        text.push_str("]\n");
    }
    if !survey.virtual_dirs.is_empty() {
        text.push_str(
            "\n# Prefixes of include paths, and the folders that they stand \
             for.\n[preprocess.virtual-dirs]\n",
        );
        for (prefix, found) in &survey.virtual_dirs {
            let count = counted(found.count, "include", "includes");
            let _ = writeln!(text, "{} = {}  # {count}", quoted(prefix), quoted(&found.path));
        }
    }
    text.push_str("\n# error, warn, info or off, for a category of rules or for one rule.\n[levels]\n# perf = \"info\"\n");
    text.push_str(
        "\n# Another configuration in which to read every file.\n# [[variant]]\n# name = \
         \"vulkan\"\n# defines = [\"VULKAN\"]\n",
    );
    text
}

/// A line that sets the only value found; a comment if there are none or several.
fn setting(key: &str, found: &Named, example: &str) -> String {
    if let Some((value, place)) = found.only() {
        // The name of a file may contain control characters.
        let place = place.replace(char::is_control, "?");
        return format!("{key} = {}  # as in {place}\n", quoted(value));
    }
    let several = found.values().join(", ");
    let several = if several.is_empty() {
        several
    } else {
        format!("  # the build has {several}")
    };
    format!("# {key} = {}{several}\n", quoted(example))
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// The summary to print after writing the file.
fn summary(path: &Path, survey: &Survey) -> String {
    let mut lines = vec![format!(
        "wrote {}, for {}",
        path.display(),
        counted(survey.shaders, "shader", "shaders")
    )];
    let mut line = |name: &str, value: &str| lines.push(format!("  {name:<13}  {value}"));
    for (name, found) in [("profile", &survey.profiles), ("hlsl", &survey.versions)] {
        if let Some((value, place)) = found.only() {
            line(name, &format!("{value}, as in {place}"));
        }
    }
    for found in &survey.include_dirs {
        line(
            "include-dirs",
            &format!(
                "{}, for {}",
                found.path,
                counted(found.count, "include", "includes")
            ),
        );
    }
    for (prefix, found) in &survey.virtual_dirs {
        line("virtual-dirs", &format!("{prefix} is {}", found.path));
    }
    for missing in &survey.missing {
        line(
            "not found",
            &format!("{} ({})", missing.path, counted(missing.count, "file", "files")),
        );
    }
    if survey.more_missing > 0 {
        line("", &format!("and {} more", survey.more_missing));
    }
    lines.push(String::new());
    lines.join("\n")
}
