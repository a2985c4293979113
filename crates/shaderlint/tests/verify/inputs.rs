//! What kernels are given.

use std::path::Path;
use std::process::Command;

use super::{NO_ADAPTER, has_adapter, root, unbroken, verify};

/// What the interpreter finds of two kernels that are alike if `Count` is 100.
fn interpreted(folder: &str, arguments: &[&str]) -> String {
    let (first, second) = (format!("{folder}/first.hlsl"), format!("{folder}/second.hlsl"));
    let mut all = vec![first.as_str(), second.as_str()];
    all.extend(arguments);
    let said = verify(&all, NO_ADAPTER);
    let whole = unbroken(&said);
    let line = whole.lines().find(|line| line.contains("interpreter"));
    line.unwrap_or(&said).trim().to_owned()
}

#[test]
fn uniforms_are_what_they_are_said_to_be() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("uniforms");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let kernel = |count: &str| {
        format!(
            "cbuffer Constants {{ uint Count; }};
RWStructuredBuffer<uint> Out;
[numthreads(64, 1, 1)]
void Main(uint3 id : SV_DispatchThreadID) {{ Out[id.x] = id.x < {count} ? 1 : Count; }}
"
        )
    };
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a file");
    write("first.hlsl", &kernel("Count"));
    write("second.hlsl", &kernel("100"));
    let shown = folder.to_string_lossy();
    let all = "interpreter  waves of 4, 8, 16, 32, 64, 128:";
    assert_eq!(
        interpreted(&shown, &[]),
        format!("{all} differs at Out[128], with Count = 192: expected 1, got 192")
    );
    assert_eq!(
        interpreted(&shown, &["--set", "Count=100"]),
        format!("{all} equal in 448 words written")
    );
    let said = interpreted(&shown, &["--set", "Cuont=100"]);
    let unknown = "first.hlsl: no uniform is called `Cuont`; did you mean `Count`?";
    assert!(said.contains("--set Cuont: ") && said.contains(unknown), "{said}");
    let said = interpreted(&shown, &["--set", "Out=100"]);
    assert!(
        said.contains("no uniform is called `Out`; did you mean `Count`?"),
        "{said}"
    );
    write(
        "kernel.toml",
        "groups = [1, 1, 1]\n[entry.Main]\nset = { Count = 100 }\n",
    );
    assert_eq!(
        interpreted(&shown, &[]),
        format!("{all} equal in 256 words written")
    );
    write("kernel.toml", "groups = [1, 1, 1]\nsets = {}\n");
    let wrong = |expected: &str| {
        let said = interpreted(&shown, &[]);
        let said: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        assert_eq!(said.join("\n").replace(&*shown, "FOLDER"), expected);
    };
    wrong(
        "2
error: no key is called `sets` here; did you mean `set`?
  ┌─ FOLDER/kernel.toml:2:1
  │
2 │ sets = {}
  │ ^^^^",
    );
    write(
        "kernel.toml",
        "groups = [1, 1, 1]\n\n[entry.Mian]\nset = { Count = 100 }\n",
    );
    wrong(
        "2
error: no kernel beside this file is called `Mian`; did you mean `Main`?
  ┌─ FOLDER/kernel.toml:3:8
  │
3 │ [entry.Mian]
  │        ^^^^",
    );
    write("kernel.toml", "set = { cuont = 100 }\n");
    wrong(
        "2
error: no uniform is called `cuont`; did you mean `Count`?
  ┌─ FOLDER/kernel.toml:1:9
  │
1 │ set = { cuont = 100 }
  │         ^^^^^",
    );
}

/// Another level of a texture than the first is some function of the place.
#[test]
fn what_is_replaced_is_said() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("texture.hlsl");
    let ladder = std::fs::read_to_string(root().join("fixtures/scan/ladder-64.hlsl")).expect("the fixture");
    let text = ladder
        .replace("StructuredBuffer<uint> Src;\nRW", "Texture2D<uint> Src;\nRW")
        .replace("Src[id.x]", "Src.Load(int3(id.x, 0, 1))");
    std::fs::write(&file, text).expect("the folder can be written to");
    let said = verify(&[&file.to_string_lossy(), "--no-timing"], NO_ADAPTER);
    assert!(said.starts_with("0\n"), "{said}");
    let remark = "  Src.Load: no WGSL form; a hash of its arguments replaces it on both sides, and times do \
         not cover it\n";
    assert!(unbroken(&said).contains(remark), "{said}");
    let output = Command::new(env!("CARGO_BIN_EXE_shaderlint"))
        .arg("wgsl")
        .arg(&file)
        .output();
    let warned = String::from_utf8_lossy(&output.expect("the program starts").stderr).into_owned();
    assert!(warned.contains("`Src.Load` has no WGSL form"), "{warned}");
}

/// A ladder between textures, and what is wrong in one.
#[test]
fn textures_are_arrays() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("textures");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let ladder = std::fs::read_to_string(root().join("fixtures/scan/ladder-64.hlsl")).expect("the fixture");
    let text = ladder
        .replace(
            "StructuredBuffer<uint> Src;\nRWStructuredBuffer<uint> Out;",
            "Texture2D<uint> Src;\nRWTexture2D<uint> Out;",
        )
        .replace("Src[id.x]", "Src.Load(int3(id.x, 2, 0))")
        .replace("Out[id.x]", "Out[uint2(id.x, 1)]");
    assert!(text.contains("RWTexture2D"), "{text}");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).expect("the folder can be written to");
        folder.join(name).to_string_lossy().into_owned()
    };
    let right = write("right.hlsl", &text);
    // As a subscript, it is the same texel.
    let subscript = write(
        "subscript.hlsl",
        &text.replace("Src.Load(int3(id.x, 2, 0))", "Src[uint2(id.x, 2)]"),
    );
    let wrong = write("wrong.hlsl", &text.replace("uint2(id.x, 1)", "uint2(id.x, 3)"));
    let all = "waves of 4, 8, 16, 32, 64, 128";
    let said = unbroken(&verify(&[&right, "--no-timing"], ("NODEVICE_SELECT", "1")));
    assert!(said.starts_with("0\n"), "{said}");
    assert!(
        said.contains(&format!("interpreter  {all}: equal in 470 words written\n")),
        "{said}"
    );
    let remark = "  Out, Src: run as a buffer of texels, row after row, and so not timed\n";
    assert_eq!(said.matches(remark).count(), 1, "{said}");
    assert!(!said.contains("hash"), "{said}");
    assert!(
        !has_adapter() || said.contains(" words alike in 5 cases, 790 of them written\n"),
        "{said}"
    );
    let said = verify(&[&right, &subscript, "--no-timing"], NO_ADAPTER);
    assert!(
        said.starts_with("0\n") && said.contains("verdict      proved equal"),
        "{said}"
    );
    let said = unbroken(&verify(
        &[&right, &wrong, "--no-timing"],
        ("NODEVICE_SELECT", "1"),
    ));
    assert!(said.starts_with("1\n"), "{said}");
    if has_adapter() {
        let texel = ": differs: Out[0][1] is ";
        assert!(said.contains(texel), "{said}");
    }
    write("kernel.toml", "lengths = { Out = 64 }\n");
    let said = verify(&[&right], NO_ADAPTER);
    assert!(
        said.contains("error: `Out` is a texture, and textures are as large as the dispatch\n"),
        "{said}"
    );
}
