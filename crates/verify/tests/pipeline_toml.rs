//! What is wrong in a `pipeline.toml` is told at its place, and what is right is a plan. Needs no device.
#![expect(clippy::too_many_lines, reason = "a test shows all that it expects")]
#![allow(clippy::unwrap_used, reason = "tests fail")]

mod support;

use shaderlint_verify::pipeline::PipelineError;
use support::with_kernel;

const PIPELINE: &str = r#"about = "doubles"
computes = "copy"
kernels = "double.hlsl"
input = "In"
output = "Out[0]"

[let]
half = "n / 2"

[buffers]
In = { length = "n" }
Out = { count = "2", length = "n + index" }

[[pass]]
entry = "Main"
groups = "ceil_div(n, 64)"
for = { name = "i", from = "0", while = "i < 2", next = "i + 1" }
bind = { Out = "Out[i]" }
set = { Count = "half" }
"#;

const KERNEL: &str = "cbuffer C { uint Count; }; StructuredBuffer<uint> In; RWStructuredBuffer<uint> Out;
[numthreads(64, 1, 1)] void Main(uint3 id : SV_DispatchThreadID) { if (id.x < Count) { Out[id.x] = In[id.x]; } }";

/// `the text at the place: message` of what is wrong with this kernel once `from` is replaced.
fn wrong_with(kernel: &str, from: &str, to: &str) -> String {
    let text = PIPELINE.replacen(from, to, 1);
    assert_ne!(text, PIPELINE, "{from}");
    let result = with_kernel(&text, kernel).and_then(|linked| linked.plan(1000, 65_535));
    let PipelineError { message, place } = result.expect_err(from);
    format!("{}: {message}", &text[place])
}

fn wrong(from: &str, to: &str) -> String {
    wrong_with(KERNEL, from, to)
}

#[test]
fn what_the_kernel_cannot_take_is_told() {
    let bind = "bind = { Out = \"Out[i]\" }";
    let twice = "`Main` is given one buffer as `In` and as `Out`, and writes to it";
    // Written alike, or the same in the end.
    for index in ["0", "i", "i / 2"] {
        let both = format!("bind = {{ In = \"Out[0]\", Out = \"Out[ {index} ]\" }}");
        assert_eq!(wrong(bind, &both), format!("\"Out[ {index} ]\": {twice}"));
    }
    assert_eq!(wrong(bind, "bind = { Out = \"In\" }"), format!("\"In\": {twice}"));
    let both = PIPELINE.replacen(bind, "bind = { In = \"Out[i]\", Out = \"Out[ i]\" }", 1);
    let before_any_n = with_kernel(&both, KERNEL).expect_err("one buffer");
    assert_eq!(before_any_n.message, twice);

    let quads = KERNEL.replace("Buffer<uint>", "Buffer<uint4>");
    assert_eq!(
        wrong_with(&quads, "half = \"n / 2\"", "half = \"n\""),
        "\"Out[i]\": `Out` has elements of 4 words, and `Out[1]` has 1001 words"
    );
    let signed = KERNEL.replace("uint Count", "int Count");
    for value in ["2147483648", "4294967295"] {
        let said = wrong_with(&signed, "Count = \"half\"", &format!("Count = \"{value}\""));
        assert_eq!(said, format!("{value}: {value} does not fit into an int"));
    }
    let textured = KERNEL.replace("In[id.x]", "T.Load(int3(id.x, 0, 0))");
    let textured = format!("Texture2D<uint> T; {textured}");
    assert_eq!(
        wrong_with(&textured, "n / 2", "n / 3"),
        "\"Main\": `Main` uses the texture `T`; pipelines have buffers only"
    );
    assert_eq!(
        wrong_with(&textured.replace("x, 0, 0", "x, 0, 1"), "n / 2", "n / 3"),
        "\"Main\": `Main` uses T.Load, which a pipeline cannot give it"
    );
    let textured = KERNEL.replace("In[id.x]", "In[id.x] + T[id.xy]");
    let textured = format!("Texture2D<uint> T; {textured}");
    assert_eq!(
        wrong_with(&textured, "n / 2", "n / 3"),
        "\"Main\": `Main` uses the texture `T`; pipelines have buffers only"
    );
    let whole = KERNEL
        .replace(
            "cbuffer C { uint Count; }",
            "struct S { uint Count; uint More; }; ConstantBuffer<S> P",
        )
        .replace("Count)", "P.Count)");
    assert_eq!(
        wrong_with(&whole, "n / 2", "n / 3"),
        "\"Main\": `set` cannot give `P` of `Main`: it gives only single ints and uints of a `cbuffer`"
    );
    // The place in `bind`, whichever of the two is there.
    let bind_in = "bind = { In = \"Target\" }";
    let target = KERNEL.replace("Out", "Target");
    let named_alike = PIPELINE.replacen("[buffers]", "[buffers]\nTarget = { length = \"n\" }", 1);
    let both = named_alike.replacen(bind, bind_in, 1);
    let PipelineError { message, place } = with_kernel(&both, &target).expect_err("one buffer");
    assert_eq!(
        (message.as_str(), &both[place]),
        (
            "`Main` is given one buffer as `In` and as `Target`, and writes to it",
            "\"Target\""
        )
    );
}

/// HLSL's elements lie side by side, and the pipeline's words are theirs.
#[test]
fn elements_that_wgsl_puts_further_apart_are_refused() {
    let bind = "\"Out[i]\"";
    let said = |bytes: u32, stride: u32| {
        format!(
            "{bind}: `Out` of `Main` has elements of {bytes} bytes, which in WGSL are {stride}; a pipeline can give it elements \
             of one, two or four words"
        )
    };
    let threes = KERNEL
        .replace("RWStructuredBuffer<uint>", "RWStructuredBuffer<uint3>")
        .replace("= In[id.x]", "= In[id.x].xxx");
    assert_eq!(wrong_with(&threes, "n / 2", "n / 3"), said(12, 16));
    let structs = threes
        .replace("uint3>", "S>")
        .replace("Out[id.x]", "Out[id.x].b")
        .replace("cbuffer", "struct S { uint a; uint3 b; }; cbuffer");
    assert_eq!(wrong_with(&structs, "n / 2", "n / 3"), said(16, 32));
    // Two words are where HLSL has them.
    let pairs = KERNEL
        .replace("RWStructuredBuffer<uint>", "RWStructuredBuffer<uint2>")
        .replace("= In[id.x]", "= In[id.x].xx");
    let even = PIPELINE.replacen("\"n + index\"", "\"n\"", 1);
    assert!(with_kernel(&even, &pairs).unwrap().plan(1000, 65_535).is_ok());
}

#[test]
fn places_are_those_of_the_text() {
    let unknown = "unknown name `halves`; there are n";
    for (written, place) in [
        (r#""""n / halves""""#, "halves"),
        ("\"\"\"\nn /\n halves\"\"\"", "halves"),
        ("'''n / halves'''", "halves"),
        ("'n / halves'", "halves"),
        // What follows an escape is somewhere in the value.
        (r#""\u006e / halves""#, r#""\u006e / halves""#),
    ] {
        let to = format!("half = {written}");
        assert_eq!(
            wrong("half = \"n / 2\"", &to),
            format!("{place}: {unknown}"),
            "{to}"
        );
    }
    let missing = "there is no buffer 2: there are 2";
    for (written, place) in [
        (r#""""Out[i + 1]""""#, "i + 1"),
        ("'Out [i + 1]'", "i + 1"),
        (r#""Out[i\u0020+ 1]""#, r#""Out[i\u0020+ 1]""#),
    ] {
        let to = format!("Out = {written}");
        assert_eq!(
            wrong("Out = \"Out[i]\"", &to),
            format!("{place}: {missing}"),
            "{to}"
        );
    }
}

#[test]
fn a_pipeline_takes_no_more_memory_than_it_may() {
    let buffers = |count: usize| -> String {
        let one = |at| format!("B{at} = {{ length = \"1\" }}\n");
        format!("[buffers]\n{}", (0..count).map(one).collect::<String>())
    };
    assert_eq!(wrong("[buffers]\n", &buffers(257)), "B256: more than 256 buffers");
    assert_eq!(
        wrong("[buffers]\n", &buffers(254)),
        "2: with these 2 there are more than 256 buffers"
    );
    assert_eq!(
        wrong(
            "[buffers]\n",
            "[buffers]\nMore = { length = \"n * 64 + pow(2, 22)\" }\n"
        ),
        "n: with `In` there are more than 64 words an element and 4194304 beside that"
    );
    let name = |at| format!("l{at} = \"1\"\n");
    let names: String = (0..64).map(name).collect();
    assert_eq!(
        wrong("half = \"n / 2\"", &format!("{names}half = \"n / 2\"")),
        "half: more than 64 names"
    );
    let pass =
        "[[pass]]\nentry = \"Main\"\ngroups = \"1\"\nbind = { Out = \"Out[0]\" }\nset = { Count = \"1\" }\n";
    assert_eq!(
        wrong("[[pass]]", &format!("{}[[pass]]", pass.repeat(4097))),
        "\"Main\": this repeats for more than 4096 dispatches"
    );
}

/// What is not dispatched has written nothing that could change places.
#[test]
fn buffers_change_places_after_a_dispatch_only() {
    let toml = "about = \"\"\ncomputes = \"copy\"\nkernels = \"copy.hlsl\"\ninput = \"In\"\noutput = \"In\"\n\
                [buffers]\nIn = { length = \"n\" }\nOut = { length = \"n\" }\n\
                [[pass]]\nentry = \"Main\"\ngroups = \"n / 100\"\nset = { Count = \"n\" }\nswap = [\"In\", \"Out\"]\n";
    let linked = with_kernel(toml, KERNEL).unwrap();
    let places = |n: u64| {
        let plan = linked.plan(n, 65_535).unwrap();
        (plan.dispatches.len(), plan.input, plan.output)
    };
    assert_eq!((places(0), places(10)), ((0, 0, 0), (0, 0, 0)));
    assert_eq!(places(100), (1, 0, 1));
}

#[test]
fn what_never_ends_and_what_is_too_long_is_told() {
    let groups = "groups = \"ceil_div(n, 64)\"\nfor = { name = \"i\", from = \"0\", while = \"i < 2\", next = \"i + 1\" }";
    let forever = "groups = \"0\"\nfor = { name = \"i\", from = \"0\", while = \"1\", next = \"i\" }";
    assert_eq!(
        wrong(groups, forever),
        "1: this repeats for more than 4096 dispatches"
    );
    let long = format!("half = \"n{}\"", " + 0".repeat(100_000));
    assert!(wrong("half = \"n / 2\"", &long).ends_with("this is too long"));
}

#[test]
fn what_is_wrong_is_told_at_its_place() {
    let expected = [
        (
            "computes = \"copy\"",
            "computes = \"sort\"",
            "\"sort\": unknown variant `sort`, expected one of `inclusive-scan`, `exclusive-scan`, `sum`, `copy`, `read`",
        ),
        (
            "input = ",
            "source = ",
            "source: unknown field `source`, expected one of `about`, `computes`, `kernels`, `input`, `output`, `at-most`, `defect`, `let`, `buffers`, `pass`",
        ),
        (
            "input = \"In\"",
            "input = \"Inn\"",
            "\"Inn\": there is no buffer `Inn`; there are In, Out",
        ),
        (
            "output = \"Out[0]\"",
            "output = \"Out\"",
            "\"Out\": `Out` is several buffers: choose one, as in `Out[0]`",
        ),
        (
            "output = \"Out[0]\"",
            "output = \"Out[0\"",
            "\"Out[0\": `Out[0` has no `]`",
        ),
        (
            "output = \"Out[0]\"",
            "output = \"Out[2]\"",
            "2: there is no buffer 2: there are 2",
        ),
        (
            "input = \"In\"",
            "input = \"In[0]\"",
            "\"In[0]\": `In` is one buffer: it takes no index",
        ),
        ("half = ", "n = ", "n: `n` is already in use"),
        (
            "\"n / 2\"",
            "\"n / halves\"",
            "halves: unknown name `halves`; there are n",
        ),
        (
            "length = \"n\"",
            "length = \"n / 3\"",
            "\"In\": has 333 words, and should have 1000",
        ),
        (
            "count = \"2\"",
            "count = \"n\"",
            "n: with these 1000 there are more than 256 buffers",
        ),
        (
            "name = \"i\"",
            "name = \"half\"",
            "\"half\": `half` is already in use",
        ),
        (
            "next = \"i + 1\"",
            "next = \"i\"",
            "i < 2: this repeats for more than 4096 dispatches",
        ),
        (
            "next = \"i + 1\"",
            "next = \"i - 1\"",
            "i - 1: 0 - 1 is not a number from 0 to 2^64 - 1",
        ),
        (
            "groups = \"ceil_div(n, 64)\"",
            "groups = \"pow(n, 5)\"",
            "pow(n, 5): 1000000000000000 groups are more than a device dispatches",
        ),
        (
            "Out = \"Out[i]\"",
            "Out = \"Out[i + 1]\"",
            "i + 1: there is no buffer 2: there are 2",
        ),
        (
            "bind = { Out = \"Out[i]\" }",
            "",
            "\"Main\": `Main` uses `Out`: name one of those in `bind`",
        ),
        (
            "bind = { Out",
            "bind = { Outt",
            "\"Main\": `Main` uses `Out`: name one of those in `bind`",
        ),
        (
            "bind = { Out = \"Out[i]\"",
            "bind = { Out = \"Out[i]\", More = \"In\"",
            "More: `Main` uses no buffer `More`",
        ),
        (
            "In = { length",
            "Elements = { length",
            "\"In\": there is no buffer `In`; there are Elements, Out",
        ),
        (
            "set = { Count",
            "set = { Counts",
            "\"Main\": `Main` uses `Count`: give its value in `set`",
        ),
        (
            "Count = \"half\"",
            "Count = \"half\", More = \"1\"",
            "More: `Main` uses no constant `More`",
        ),
        (
            "Count = \"half\"",
            "Count = \"pow(2, 40)\"",
            "pow(2, 40): 1099511627776 does not fit into 32 bits",
        ),
        (
            "Count = \"half\"",
            "Count = \"half +\"",
            ": a number, a name or `(` was expected here",
        ),
        (
            "groups = \"ceil_div(n, 64)\"",
            "groups = \"row\"",
            "row: unknown name `row`; there are n, half, i",
        ),
        (
            "kernels = \"double.hlsl\"\n",
            "",
            "\"Main\": this entry point has no file: write `kernels = \"….hlsl\"` here, or once above",
        ),
        (
            "[let]",
            "at-most = \"999\"\n[let]",
            "999: takes at most 999 elements",
        ),
        (
            "set = ",
            "swap = [\"In\", \"Out[0]\"]\nset = ",
            "\"Out[0]\": `Out` names several buffers: only single buffers can change places",
        ),
        (
            "set = ",
            "swap = [\"Out\", \"In\"]\nset = ",
            "\"Out\": `Out` names several buffers: only single buffers can change places",
        ),
        (
            "[let]",
            "at-most = \"n\"\n[let]",
            "n: unknown name `n`; there are none",
        ),
        (
            "[let]",
            "defect = \" \"\n[let]",
            "\" \": describe the defect; if there is none, leave this out",
        ),
        (
            "\"n + index\"",
            "\"0\"",
            "\"Out[0]\": has 0 words, and should have 1000",
        ),
        (
            "set = ",
            "swap = [\"In\", \"In\"]\nset = ",
            "\"In\": a buffer cannot change places with itself",
        ),
        (
            "set = ",
            "swap = [\"In\", \"In\", \"In\"]\nset = ",
            "[\"In\", \"In\", \"In\"]: `swap` takes two buffers",
        ),
    ];
    for (from, to, said) in expected {
        assert_eq!(wrong(from, to), said, "{to}");
    }
}

#[test]
fn a_pipeline_has_a_buffer_and_a_pass() {
    let buffers = "In = { length = \"n\" }\nOut = { count = \"2\", length = \"n + index\" }\n";
    assert_eq!(
        wrong(buffers, ""),
        "\"Out[i]\": there is no buffer `Out`: `[buffers]` is empty"
    );
    let (pass, _) = PIPELINE.split_once("[[pass]]").unwrap();
    let none = with_kernel(pass, KERNEL).unwrap_err();
    assert_eq!(
        (none.message.as_str(), none.place),
        ("nothing to run: there is no `[[pass]]`", 0..0)
    );
}
