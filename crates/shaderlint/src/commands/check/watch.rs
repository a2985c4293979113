//! `--watch`: checks again when a file changes, until the user ends it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use notify::{Event, RecursiveMode, Watcher};

use super::inputs;
use super::run::run_with;
use crate::check::options::Target;
use crate::cli::{CheckArgs, Outcome};
use crate::support::paths::here;
use crate::support::{snippets, terminal};
use crate::workspace::walk;

/// An editor writes a file in several steps: the next check waits until nothing has changed for this long.
const QUIET: Duration = Duration::from_millis(50);

pub(crate) fn run(args: &CheckArgs) -> Result<Outcome> {
    ensure!(
        inputs::stdin(args)?.is_none(),
        "--watch: standard input cannot be read again"
    );
    let (sender, changes) = channel();
    let on_event = move |event| {
        // When the program ends, the receiver is gone.
        let _ = sender.send(event);
    };
    let mut watcher = notify::recommended_watcher(on_event).context("--watch")?;
    let mut watched = BTreeSet::new();
    let mut watch = |folders: BTreeSet<PathBuf>| -> Result<()> {
        for folder in folders.into_iter().filter(|folder| folder.exists()) {
            if !watched.iter().any(|known| folder.starts_with(known)) {
                let watching = watcher.watch(&folder, RecursiveMode::Recursive);
                watching.with_context(|| format!("--watch: {}", folder.display()))?;
                watched.insert(folder);
            }
        }
        Ok(())
    };
    // An error in a configuration ends a run before the list of its folders is known.
    let named = args.files.paths.iter().map(|path| match path.parent() {
        Some(parent) if path.is_file() => here(parent),
        _ => here(path),
    });
    let here = args.files.paths.is_empty().then(|| here(Path::new("")));
    watch(named.chain(here).collect())?;
    loop {
        terminal::clear();
        let mut watching = Ok(());
        // A file that changes during a check is checked again.
        let checked = run_with(args, &mut |inputs| watching = watch(read(args, inputs)));
        watching?;
        if let Err(error) = checked {
            snippets::failure(&error);
        }
        if !args.output.quiet {
            terminal::print_error(b"watching for changes; Ctrl-C ends\n");
        }
        wait(&changes, &written(args))?;
    }
}

/// The folders whose files a run may read: those of the workspace and the header folders.
fn read(args: &CheckArgs, inputs: &[Target]) -> BTreeSet<PathBuf> {
    let roots = inputs
        .iter()
        .map(|target| (target.input.path.as_path(), target.project.root.as_deref()));
    let workspace = walk::workspace(&args.files.paths, roots);
    let headers = inputs.iter().flat_map(|target| target.project.header_folders());
    let folders = workspace.folders.into_iter().chain(workspace.loose);
    folders.chain(headers.map(|folder| here(folder))).collect()
}

/// Files that a run itself writes: they must not start another run.
fn written(args: &CheckArgs) -> Vec<PathBuf> {
    let paths = args.output.output_file.iter().chain(&args.cache.cache_dir);
    paths.map(|path| here(path)).collect()
}

/// Waits for a change, and then until changes stop.
fn wait(changes: &Receiver<notify::Result<Event>>, written: &[PathBuf]) -> Result<()> {
    loop {
        let Ok(change) = changes.recv() else {
            bail!("--watch: stopped watching files");
        };
        match change {
            Ok(event) if matters(&event, written) => break,
            Ok(_) => {}
            Err(error) => terminal::warn(&format!("--watch: {error}")),
        }
    }
    while changes.recv_timeout(QUIET).is_ok() {}
    Ok(())
}

/// Whether an event may change the findings. Hidden files are no sources: they belong to repositories and caches.
fn matters(event: &Event, written: &[PathBuf]) -> bool {
    let is_hidden = |path: &PathBuf| {
        let mut names = path.components().map(|name| name.as_os_str().to_string_lossy());
        names.any(|name| name.starts_with('.') && name != ".shaderlint.toml")
    };
    let is_written = |path: &PathBuf| written.iter().any(|own| path.starts_with(own));
    let mut paths = event.paths.iter();
    event.need_rescan() || !event.kind.is_access() && paths.any(|path| !is_hidden(path) && !is_written(path))
}

#[cfg(test)]
mod tests {
    use notify::EventKind;
    use notify::event::{AccessKind, CreateKind, ModifyKind};

    use super::*;

    #[test]
    fn what_is_hidden_read_or_our_own_does_not_matter() {
        let of = |kind: EventKind, path: &str| {
            let event = Event::new(kind).add_path(PathBuf::from(path));
            matters(&event, &[PathBuf::from("/src/out.json")])
        };
        let modified = EventKind::Modify(ModifyKind::Any);
        assert!(of(modified, "/src/a.hlsl"));
        assert!(of(modified, "/src/.shaderlint.toml"));
        assert!(of(EventKind::Create(CreateKind::File), "/src/part.h"));
        assert!(!of(EventKind::Access(AccessKind::Any), "/src/a.hlsl"));
        assert!(!of(modified, "/src/.git/index"));
        assert!(!of(modified, "/src/.shaderlint_cache/0.1.0/a"));
        assert!(!of(modified, "/src/out.json"));
    }
}
