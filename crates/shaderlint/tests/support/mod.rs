//! What tests of the binary share.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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
        let mut command = Command::new(env!("CARGO_BIN_EXE_shaderlint"));
        command
            .current_dir(&self.0)
            .args(arguments)
            .env_remove("NO_COLOR");
        command.output().unwrap()
    }

    /// Exit code, then standard output, then standard error.
    pub fn said(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let [out, err] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        format!("{}\n{out}{err}", output.status.code().unwrap_or(-1))
    }
}
