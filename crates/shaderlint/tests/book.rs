//! The book and the README show what happens, and lead to what there is.
//!
//! `SNAPSHOTS=overwrite` writes anew what their commands print.
#![cfg(all(unix, feature = "gpu"))]
#![expect(clippy::unwrap_used, reason = "a book that cannot be read fails the test")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use snapbox::Data;
use support::Folder;

/// What is built into the book, if it is.
const PLAYGROUND: &str = "playground/index.html";

/// Where the repository is on the web, for what is not in the book.
const REPOSITORY: &str = "https://github.com/shaderlint/shaderlint/";

/// How a block begins that shows commands and what they print.
const CONSOLE: &str = "```console\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages of the book, by their path in `docs`.
fn pages() -> BTreeSet<String> {
    let docs = root().join("docs");
    let in_folder = |folder: &str| -> Vec<String> {
        let names = fs::read_dir(docs.join(folder)).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let stems = names.filter_map(|name| name.strip_suffix(".md").map(str::to_owned));
        let pages = stems.filter(|stem| stem != "SUMMARY");
        pages.map(|stem| format!("{folder}{stem}.md")).collect()
    };
    in_folder("").into_iter().chain(in_folder("rules/")).collect()
}

fn text_of(page: &str) -> String {
    fs::read_to_string(root().join("docs").join(page)).unwrap()
}

/// All files of one folder put into another one.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copied = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &copied);
        } else {
            fs::copy(&path, copied).unwrap();
        }
    }
}

/// What a command of a shell prints. Findings or none make no failure; what does begins with `? 2`.
fn printed(folder: &Folder, command: &str) -> String {
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(&folder.0)
        .env_remove("GITHUB_ACTIONS")
        .env("PATH", support::path_with_shaderlint())
        // What a device says differs from machine to machine.
        .env("VK_DRIVER_FILES", "/there/is/none")
        .output()
        .unwrap();
    let status = match output.status.code() {
        Some(0 | 1) => String::new(),
        code => format!("? {code:?}\n"),
    };
    status + &String::from_utf8_lossy(&output.stdout) + &String::from_utf8_lossy(&output.stderr)
}

/// The page as it would be if its console blocks showed what their commands print in the folder. A block that says so
/// already, but for what it leaves out by a line of three dots, stays as it is.
fn run_page(page: &str, folder: &Folder) -> String {
    let mut happened = String::new();
    let mut rest = page;
    while let Some((before, block)) = rest.split_once(CONSOLE) {
        let (shown, after) = block.split_once("```\n").unwrap();
        let commands = shown.lines().filter_map(|line| line.strip_prefix("$ "));
        let mut said = String::new();
        for command in commands {
            // What prints something is parted from what comes after.
            let is_silent = said.lines().last().is_none_or(|line| line.starts_with("$ "));
            let gap = if is_silent { "" } else { "\n" };
            said = format!("{said}{gap}$ {command}\n{}", printed(folder, command).trim_end());
            said.truncate(said.trim_end().len());
            said.push('\n');
        }
        let is_shown = agree(
            &shown.lines().collect::<Vec<_>>(),
            &said.lines().collect::<Vec<_>>(),
        );
        happened += before;
        happened += CONSOLE;
        happened += if is_shown { shown } else { &said };
        happened += "```\n";
        rest = after;
    }
    happened + rest
}

/// Whether these lines are shown, where three dots stand for any.
fn agree(shown: &[&str], said: &[&str]) -> bool {
    match (shown, said) {
        ([], []) => true,
        (["...", after @ ..], _) => (0..=said.len()).any(|left_out| agree(after, &said[left_out..])),
        ([first, after @ ..], [line, rest @ ..]) => first == line && agree(after, rest),
        _ => false,
    }
}

fn check(path: &Path, folder: &Folder) {
    let page = fs::read_to_string(path).unwrap();
    if page.contains(CONSOLE) {
        snapbox::Assert::new()
            .action_env(snapbox::assert::DEFAULT_ACTION_ENV)
            .eq(run_page(&page, folder), Data::read_from(path, None).raw());
    }
}

/// Each page begins with the folder as it is in `fixtures/book`, the museum's with its own kernels, and goes on with what
/// its commands made of it.
#[test]
fn pages_show_what_is_printed() {
    for page in pages() {
        let folder = Folder::new(&format!("book-{}", page.replace('/', "-")));
        let files = if page == "museum.md" {
            "fixtures/museum"
        } else {
            "fixtures/book"
        };
        copy(&root().join(files), &folder.0);
        check(&root().join("docs").join(&page), &folder);
    }
}

#[test]
fn the_readme_shows_what_is_printed() {
    let folder = Folder::new("book-readme");
    copy(&root().join("fixtures/scan"), &folder.0.join("fixtures/scan"));
    check(&root().join("README.md"), &folder);
}

/// The command that a reader types first. It is not built anew here.
#[test]
fn the_readme_begins_with_a_finding() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let mut lines = readme.lines().map(str::trim);
    let command = lines.find_map(|line| line.strip_prefix("cargo run --profile "));
    let (profile, arguments) = command.unwrap().split_once(" -- ").unwrap();
    let settings = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(settings.contains(&format!("[profile.{profile}]\n")), "{profile}");
    let mut program = Command::new(env!("CARGO_BIN_EXE_shaderlint"));
    let output = program.args(arguments.split(' ')).current_dir(root()).output();
    let said = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(said.contains("1 finding in 1 file"), "{said}");
}

#[test]
fn the_contents_have_every_page_once() {
    let contents = text_of("SUMMARY.md");
    let listed: Vec<String> = links(&contents).into_iter().map(|(to, _)| to).collect();
    let listed_once: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(listed_once, pages());
    assert_eq!(listed.len(), listed_once.len(), "a page is listed twice");
}

#[test]
fn links_lead_somewhere() {
    let docs = root().join("docs");
    let mut wrong = Vec::new();
    let mut look = |path: &Path, base: &Path, is_page: bool| {
        let text = fs::read_to_string(path).unwrap();
        for (to, line) in links(&text) {
            if let Some(problem) = problem_with(&to, path, base, is_page) {
                wrong.push(format!("{}:{line}: {to}: {problem}", path.display()));
            }
        }
    };
    for page in pages() {
        let path = docs.join(page);
        look(&path, path.parent().unwrap(), true);
    }
    look(&root().join("README.md"), &root(), false);
    look(&root().join("CHANGELOG.md"), &root(), false);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where links of a page lead, with their lines. Blocks of code have none.
fn links(text: &str) -> Vec<(String, usize)> {
    let mut links = Vec::new();
    let mut is_code = false;
    for (number, line) in (1..).zip(text.lines()) {
        is_code ^= line.starts_with("```");
        if is_code {
            continue;
        }
        let ends = line
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split_once(')').map(|(to, _)| to));
        links.extend(ends.map(|to| (to.to_owned(), number)));
    }
    links
}

fn problem_with(to: &str, from: &Path, base: &Path, is_page: bool) -> Option<&'static str> {
    if to == PLAYGROUND {
        return None;
    }
    if let Some(path) = to.strip_prefix(REPOSITORY) {
        let inside = ["blob/main/", "tree/main/"]
            .iter()
            .find_map(|kind| path.strip_prefix(kind));
        return inside
            .is_some_and(|inside| !root().join(inside).exists())
            .then_some("is not in the repository");
    }
    if to.contains("://") {
        return None;
    }
    let (file, heading) = to.split_once('#').unwrap_or((to, ""));
    let path = if file.is_empty() {
        from.to_owned()
    } else {
        base.join(file)
    };
    if !path.exists() {
        return Some("is not there");
    }
    // The built book has nothing but its own pages.
    let docs = root().join("docs").canonicalize().unwrap();
    if is_page && !path.canonicalize().unwrap().starts_with(docs) {
        return Some("is not in the book");
    }
    let has_heading = || {
        let text = fs::read_to_string(&path).unwrap();
        let mut headings = text
            .lines()
            .filter(|line| line.starts_with('#'))
            .map(|line| anchor(line.trim_start_matches('#')));
        headings.any(|anchor| anchor == heading)
    };
    (!heading.is_empty() && !has_heading()).then_some("has no such heading")
}

/// What a heading is called in addresses.
fn anchor(heading: &str) -> String {
    let characters = heading.trim().chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        _ => c.is_alphanumeric().then_some(c),
    });
    characters.collect::<String>().to_lowercase()
}

/// The first block of the page is a whole configuration; what holds then is shown.
#[test]
fn the_configuration_that_is_shown_is_one() {
    let page = text_of("configuration.md");
    let blocks: Vec<&str> = page
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    let [configuration, baseline] = blocks[..] else {
        panic!("{blocks:?}");
    };
    let folder = Folder::new("book-configured")
        .with("shaderlint.toml", configuration)
        .with("shaderlint-baseline.toml", baseline)
        .with("src/scan.hlsl", support::LADDER);
    let output = folder.run(&["--show-settings", "src/scan.hlsl"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(said.contains("6.6") && said.contains("MODE=2"), "{said}");
    // Two are known, and there is one.
    let output = folder.run(&["--output-format", "concise"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("baseline"), "{said}");
}
