//! What tests of the binary share.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A kernel with one finding.
pub const RACE: &str = "groupshared uint g_Sum[64];
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex)
{
    g_Sum[gi] = gi;
    g_Sum[gi] += g_Sum[(gi + 1) % 64];
}
// GroupMemoryBarrierWithGroupSync
";

/// A ladder that computes a scan.
pub const LADDER: &str = "StructuredBuffer<uint> Src;
RWStructuredBuffer<uint> Out;
groupshared uint g_Scan[64]; // caf\u{e9}
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex)
{
\tg_Scan[gi] = Src[gi];
\tGroupMemoryBarrierWithGroupSync();
\tfor (uint s = 1; s < 64; s <<= 1)
\t{
\t\tuint left = gi >= s ? g_Scan[gi - s] : 0;
\t\tGroupMemoryBarrierWithGroupSync();
\t\tg_Scan[gi] += left;
\t\tGroupMemoryBarrierWithGroupSync();
\t}
\tOut[gi] = g_Scan[gi];
}
";

/// A folder of its own for a test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(test: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn with(self, path: &str, text: impl AsRef<[u8]>) -> Folder {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// As it runs wherever the tests run.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shaderlint"));
        command.current_dir(&self.0).args(arguments);
        for variable in [
            "NO_COLOR",
            "FORCE_HYPERLINK",
            "GITHUB_ACTIONS",
            "GITHUB_WORKSPACE",
            "CI_PROJECT_DIR",
        ] {
            command.env_remove(variable);
        }
        command
    }

    /// Exit code, then standard output, then standard error.
    pub fn said(&self, arguments: &[&str]) -> String {
        said(self.run(arguments))
    }

    /// The same, with `text` on standard input.
    pub fn said_of(&self, text: impl AsRef<[u8]>, arguments: &[&str]) -> String {
        let mut command = self.command(arguments);
        let pipe = || Stdio::piped();
        let mut child = command
            .stdin(pipe())
            .stdout(pipe())
            .stderr(pipe())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text.as_ref()).unwrap();
        said(child.wait_with_output().unwrap())
    }
}

fn said(output: Output) -> String {
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    format!("{}\n{out}{err}", output.status.code().unwrap_or(-1))
}

/// The search path with the program that is tested before all else.
pub fn path_with_shaderlint() -> std::ffi::OsString {
    let own = Path::new(env!("CARGO_BIN_EXE_shaderlint")).parent().unwrap();
    let others = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(own.to_owned()).chain(std::env::split_paths(&others))).unwrap()
}
