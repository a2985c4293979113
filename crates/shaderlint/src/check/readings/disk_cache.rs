//! The readings of units, kept on disk: a later run of the same program reads again only the units that changed.
//!
//! The program, the unit's name, role, configuration and text, and the files that it includes, directly or not,
//! determine its readings. All of these except the texts name an entry (`entry_name`), so the entry of an edited file
//! replaces its old one. A unit reaches other files only by [`Includes::resolve`], and an entry records each
//! question and the answer. If each question still has the same answer, by path and text, a run would take the same
//! steps to the same readings: it would ask a new question only after another answer or another text.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use shaderlint_hlsl::{Derived, Includes, SourceFile, Sources, Text};

use super::{Reading, Root};
use crate::cli::{CacheArgs, RuleArgs};
use crate::support::paths::here;
use crate::workspace::includes::{Answers, Question, Search};
use crate::workspace::walk;

/// The folder of the entries, in that of the project or else of the repository.
const FOLDER: &str = ".shaderlint_cache";

/// The entries of another program are deleted once it has added none for this long.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Where the entries are stored.
#[derive(Clone, Debug, Default)]
pub(crate) enum DiskCache {
    /// Nothing is stored.
    #[default]
    Off,
    /// Each project or repository stores the entries of its own files. Files outside of any have no entries.
    Beside,
    /// All of them in this folder.
    In(PathBuf),
}

/// A text's hash (BLAKE3). In practice, different texts have different hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Fingerprint([u8; 32]);

impl Derived for Fingerprint {
    fn of(text: &Text) -> Self {
        Fingerprint(*blake3::hash(text).as_bytes())
    }
}

#[derive(Serialize, Deserialize)]
struct Entry {
    /// The hash of the unit's own text.
    root: Fingerprint,
    includes: Vec<Included>,
    readings: Vec<(Vec<Source>, Reading)>,
}

/// The answer for one `#include`.
#[derive(Serialize, Deserialize)]
struct Included {
    asked: Question,
    found: Option<(String, Fingerprint)>,
}

/// A file of a reading.
#[derive(Serialize, Deserialize)]
enum Source {
    Root,
    /// The file that the include with this index found.
    Included(usize),
    /// A file outside of the workspace: the definitions made before a file.
    Other {
        path: String,
        text: Vec<u8>,
    },
}

impl DiskCache {
    /// The cache that the arguments choose, or else the environment.
    pub fn configured(args: &CacheArgs) -> DiskCache {
        let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let is_off = || given("SHADERLINT_NO_CACHE").is_some_and(|value| value != "0" && value != "false");
        let folder = || given("SHADERLINT_CACHE_DIR").map(PathBuf::from);
        if args.no_cache || args.cache_dir.is_none() && is_off() {
            return DiskCache::Off;
        }
        let folder = args.cache_dir.clone().or_else(folder);
        folder.map_or(DiskCache::Beside, DiskCache::In)
    }

    /// The stored readings of the unit, if reading it again would give the same. `search` is used for this question
    /// only.
    pub fn get(&self, root: Root<'_>, search: &Search<'_>, rules: &RuleArgs) -> Option<Vec<Reading>> {
        let path = self.folder_for(root)?.join(entry_name(root, rules));
        let entry: Entry = unsealed(&fs::read(path).ok()?)?;
        if entry.root != *root.text.derived::<Fingerprint>() {
            return None;
        }
        let mut files = Vec::new();
        for included in entry.includes {
            let (readers, written, angled) = &included.asked;
            let readers: Vec<&str> = readers.iter().map(String::as_str).collect();
            let file = search.resolve(&readers, written, *angled);
            let found = file.as_ref().map(|file| (&file.path, *file.text.derived()));
            if found != included.found.as_ref().map(|(path, text)| (path, *text)) {
                return None;
            }
            files.push(file);
        }
        let own = SourceFile {
            path: root.name.to_owned(),
            text: root.text.clone(),
        };
        let file_of = |source| match source {
            Source::Root => Some(own.clone()),
            Source::Included(at) => files.get(at)?.clone(),
            Source::Other { path, text } => Some(SourceFile {
                path,
                text: text.into(),
            }),
        };
        let readings = entry.readings.into_iter().map(|(sources, reading)| {
            let files: Option<Vec<SourceFile>> = sources.into_iter().map(file_of).collect();
            let sources = Sources { files: files? };
            Some(Reading { sources, ..reading })
        });
        readings.collect()
    }

    /// Stores the readings of the unit. If they cannot be written, the next run reads the unit again.
    pub fn put(&self, root: Root<'_>, answers: &Answers, readings: &[Reading], rules: &RuleArgs) {
        let Some(folder) = self.folder_for(root) else {
            return;
        };
        let answers = &answers.in_order;
        let included = |(asked, found): &(Question, Option<SourceFile>)| Included {
            asked: asked.clone(),
            found: found
                .as_ref()
                .map(|file| (file.path.clone(), *file.text.derived())),
        };
        let source = |file: &SourceFile| {
            let is_it = |path: &str, text: &Text| path == file.path && **text == *file.text;
            let mut files = answers.iter().map(|(_, found)| found.as_ref());
            if is_it(root.name, root.text) {
                Source::Root
            } else if let Some(at) = files.position(|one| one.is_some_and(|one| is_it(&one.path, &one.text)))
            {
                Source::Included(at)
            } else {
                Source::Other {
                    path: file.path.clone(),
                    text: file.text.to_vec(),
                }
            }
        };
        let entry = Entry {
            root: *root.text.derived(),
            includes: answers.iter().map(included).collect(),
            readings: readings
                .iter()
                .map(|reading| {
                    (
                        reading.sources.files.iter().map(source).collect(),
                        reading.clone(),
                    )
                })
                .collect(),
        };
        let Some(bytes) = sealed(&entry) else { return };
        let _ = write(&folder, &entry_name(root, rules), &bytes);
    }

    /// The folder with the entries of this program about the unit.
    fn folder_for(&self, root: Root<'_>) -> Option<PathBuf> {
        let folder = match self {
            DiskCache::Off => return None,
            DiskCache::In(folder) => folder.clone(),
            DiskCache::Beside => {
                let project = root.project.root.clone();
                let around = project.or_else(|| walk::repository(Path::new(root.name)))?;
                around.join(FOLDER)
            }
        };
        Some(folder.join(program()?))
    }
}

/// Identifies this program by the hash of its file: programs of one version may differ.
fn program() -> Option<&'static str> {
    static PROGRAM: OnceLock<Option<String>> = OnceLock::new();
    let hash = || {
        let mut hasher = blake3::Hasher::new();
        io::copy(
            &mut fs::File::open(std::env::current_exe().ok()?).ok()?,
            &mut hasher,
        )
        .ok()?;
        let hash = hasher.finalize().to_hex();
        Some(format!("{}-{}", env!("CARGO_PKG_VERSION"), &hash[..16]))
    };
    PROGRAM.get_or_init(hash).as_deref()
}

/// Identifies an entry. Levels apply to paths relative to the working directory, so the name includes that directory.
fn entry_name(root: Root<'_>, rules: &RuleArgs) -> String {
    let Root {
        name, project, role, ..
    } = root;
    let told_apart = format!(
        "{name}\0{role:?}\0{}\0{:?}\0{}",
        project.reading(),
        rules,
        here(Path::new("")).display(),
    );
    blake3::hash(told_apart.as_bytes()).to_hex().to_string()
}

/// The bytes of an entry, preceded by their own hash.
fn sealed(entry: &Entry) -> Option<Vec<u8>> {
    let bytes = postcard::to_stdvec(entry).ok()?;
    Some([&blake3::hash(&bytes).as_bytes()[..], &bytes].concat())
}

/// `None` if the file was changed or damaged.
fn unsealed(bytes: &[u8]) -> Option<Entry> {
    let (hash, bytes) = bytes.split_first_chunk::<32>()?;
    if blake3::hash(bytes) != *hash {
        return None;
    }
    postcard::from_bytes(bytes).ok()
}

/// Writes an entry atomically: concurrent readers and writers see a whole entry or none.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    if !folder.is_dir() {
        make(folder)?;
    }
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let temporary = folder.join(format!("{name}.{}-{count}", std::process::id()));
    let written = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, folder.join(name)));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Makes the folder of this program. Git and backups ignore our own folder. A folder that the user names may hold
/// other things: only entries are written there, and nothing is deleted.
fn make(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let Some(all) = folder.parent().filter(|all| all.ends_with(FOLDER)) else {
        return Ok(());
    };
    fs::write(all.join(".gitignore"), "# Made by shaderlint.\n*\n")?;
    // https://bford.info/cachedir/
    fs::write(
        all.join("CACHEDIR.TAG"),
        "Signature: 8a477f597d28d172789f06886806bc55\n",
    )?;
    let is_old = |folder: &fs::DirEntry| {
        let changed = folder.metadata().and_then(|about| about.modified());
        let age = changed.map(|changed| SystemTime::now().duration_since(changed).unwrap_or_default());
        age.is_ok_and(|age| age > KEPT_FOR)
    };
    for other in fs::read_dir(all)?.flatten() {
        if other.path().is_dir() && is_old(&other) {
            let _ = fs::remove_dir_all(other.path());
        }
    }
    Ok(())
}
