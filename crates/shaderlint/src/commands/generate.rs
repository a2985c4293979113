//! `shaderlint completions SHELL` and `shaderlint man`, for packagers.

use std::path::Path;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::{Args, Outcome};
use crate::support::terminal;

/// Prints the completion script for a shell.
pub(crate) fn completions(shell: Shell) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "shaderlint", &mut script);
    terminal::print(&script)?;
    Ok(Outcome::Clean)
}

/// Prints the manual page of shaderlint, or of one of its commands.
pub(crate) fn man(command: Option<&str>) -> Result<Outcome> {
    let all = commands();
    let page_of = match command {
        None => all,
        Some(name) => {
            let names: Vec<&str> = all.get_subcommands().map(clap::Command::get_name).collect();
            let unknown = || {
                format!(
                    "no command is called `{name}`: expected one of {}",
                    names.join(", ")
                )
            };
            let mut commands = all.get_subcommands();
            let found = commands.find(|command| command.get_name() == name);
            found.with_context(unknown)?.clone()
        }
    };
    let mut printed = Vec::new();
    page(page_of).render(&mut printed)?;
    terminal::print(&printed)?;
    Ok(Outcome::Clean)
}

/// Writes the manual pages of shaderlint and of its commands to a folder.
pub(crate) fn man_pages(folder: &Path) -> Result<Outcome> {
    let all = commands();
    let pages = all.get_subcommands().chain([&all]);
    let written = std::fs::create_dir_all(folder);
    written
        .and_then(|()| {
            pages
                .map(|command| page(command.clone()).generate_to(folder))
                .try_for_each(|written| written.map(drop))
        })
        .with_context(|| folder.display().to_string())?;
    Ok(Outcome::Clean)
}

/// All commands, built: only then do they know their full names.
fn commands() -> clap::Command {
    // `shaderlint help` has no page: it prints the others.
    let mut all = Args::command().disable_help_subcommand(true);
    all.build();
    all
}

fn page(command: clap::Command) -> clap_mangen::Man {
    // An empty date would be omitted, and the source would take its place.
    clap_mangen::Man::new(command)
        .date(" ")
        .source(concat!("shaderlint ", env!("CARGO_PKG_VERSION")))
}
