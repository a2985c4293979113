//! The page of `shaderlint verify --report` in a browser: with WebGPU, its button pressed, and without.
//!
//! Chromium is spoken to through two pipes (`--remote-debugging-pipe`), in messages of the DevTools protocol.
#![cfg(feature = "gpu")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(90);

/// What Debian and others call it.
fn chromium() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let is_there = |name: &&str| {
        let asked = Command::new(name).arg("--version").stderr(Stdio::null()).output();
        asked.is_ok_and(|output| output.status.success())
    };
    let found = names.into_iter().find(is_there);
    let is_required = std::env::var_os("SHADERLINT_REQUIRE_BROWSER").is_some_and(|value| value == "1");
    assert!(
        found.is_some() || !is_required,
        "SHADERLINT_REQUIRE_BROWSER=1, and there is no Chromium"
    );
    if found.is_none() {
        eprintln!("skipped: no Chromium");
    }
    found
}

struct Browser {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    sent: u32,
}

impl Browser {
    fn start(program: &str, flags: &[&str]) -> Browser {
        let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("profile-{}", flags.len()));
        let mut process = Command::new("sh")
            .args(["-c", "exec 3<&0 4>&1 1>&2; exec \"$@\"", "sh", program])
            .args([
                "--headless=new",
                "--no-sandbox",
                "--remote-debugging-pipe",
                "--disable-extensions",
            ])
            .arg(format!("--user-data-dir={}", profile.display()))
            .args(flags)
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell starts");
        let to = process.stdin.take().expect("it is piped");
        let from = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut browser = Browser {
            process,
            to,
            from,
            session: None,
            sent: 0,
        };
        let targets = browser.call("Target.getTargets", &json!({}));
        let page = targets["targetInfos"].as_array().expect("targets").iter();
        let page = page
            .clone()
            .find(|target| target["type"] == "page")
            .expect("a page");
        let attached = browser.call(
            "Target.attachToTarget",
            &json!({ "targetId": page["targetId"], "flatten": true }),
        );
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        browser
    }

    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.sent += 1;
        let mut message = json!({ "id": self.sent, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser listens");
        loop {
            let mut answer = Vec::new();
            self.from.read_until(0, &mut answer).expect("the browser answers");
            assert_eq!(answer.pop(), Some(0), "the browser ended");
            let answer: Value = serde_json::from_slice(&answer).expect("answers are JSON");
            if answer["id"] == self.sent {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// The value of an expression in the page.
    fn value(&mut self, expression: &str) -> Value {
        let result = self.call(
            "Runtime.evaluate",
            &json!({ "expression": expression, "returnByValue": true }),
        );
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    fn wait(&mut self, expression: &str) {
        let start = Instant::now();
        while self.value(expression) != json!(true) {
            assert!(
                start.elapsed() < PATIENCE,
                "{expression} is not so: {}",
                self.value("document.body.innerText")
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn open(&mut self, page: &Path) {
        let page = page.canonicalize().expect("the page is there");
        self.call(
            "Page.navigate",
            &json!({ "url": format!("file://{}", page.display()) }),
        );
        self.wait("location.protocol === 'file:' && document.readyState === 'complete'");
    }

    /// Lets the window be so wide; returns how wide the page is.
    fn width_in(&mut self, width: u32) -> Value {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            &json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500 }),
        );
        self.value("document.documentElement.scrollWidth")
    }

    fn close(mut self) {
        self.session = None;
        self.call("Browser.close", &json!({}));
        self.process.wait().expect("the browser ends");
    }
}

/// The report on some files, made without a GPU of this machine.
fn report(name: &str, arguments: &[&str]) -> PathBuf {
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let output = Command::new(env!("CARGO_BIN_EXE_shaderlint"))
        .arg("verify")
        .args(arguments)
        .arg("--report")
        .arg(&page)
        .env("VK_DRIVER_FILES", "/there/is/none")
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .expect("the program starts");
    assert!(page.exists(), "{}", String::from_utf8_lossy(&output.stderr));
    page
}

const STATUS: &str = "document.querySelector('.status').textContent";

#[test]
fn a_reader_runs_both_kernels_on_their_own_gpu() {
    let Some(program) = chromium() else { return };
    let right = report("right.html", &["fixtures/scan/ladder-64.hlsl"]);
    let wrong = report(
        "wrong.html",
        &[
            "fixtures/scan/ladder-64.hlsl",
            "fixtures/scan/ladder-64-published-replacement.hlsl",
        ],
    );
    let flags = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"];
    let mut browser = Browser::start(program, &flags);
    for (page, verdict, outcome) in [
        (&right, "Proved equal", "alike"),
        (&wrong, "Not equivalent", "differs"),
    ] {
        browser.open(page);
        assert_eq!(
            browser.value("document.querySelector('.verdict strong').textContent"),
            verdict
        );
        assert_eq!(
            browser.value("document.querySelectorAll('.matrix tbody tr').length"),
            2
        );
        assert_eq!(
            browser.value("document.querySelectorAll('.diff .add').length > 0"),
            true
        );
        // Names stay as they are spelled.
        let sentences = "[sentence('equal here'), sentence('g_Sum[0] differs'), sentence('main, here')]";
        let sentences = browser.value(&format!("{sentences}.join(' ')"));
        assert_eq!(sentences, "Equal here. g_Sum[0] differs. Main, here.");
        for width in [360, 1200] {
            let shown = browser.width_in(width);
            assert!(
                shown.as_u64() <= Some(width.into()),
                "{shown} in a window of {width}"
            );
        }
        browser.value("document.querySelector('.run button').click()");
        browser.wait(&format!("{STATUS} !== '' && !{STATUS}.endsWith('…')"));
        assert_eq!(browser.value(STATUS), "Done: the last row is this device.");
        assert_eq!(
            browser.value("document.querySelector('.here .chip').textContent"),
            outcome
        );
        // Whole kernels and their ladders, where they are alike.
        let bars = if outcome == "alike" { 2 } else { 0 };
        assert_eq!(
            browser.value("document.querySelectorAll('.here svg').length"),
            bars
        );
    }
    browser.close();
}

/// A texture is a buffer in a browser too, and is not timed there.
#[test]
fn a_reader_compares_kernels_with_textures() {
    let Some(program) = chromium() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("textured");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let kernel = "Texture2D<uint> Src; RWTexture2D<uint> Dst;
[numthreads(8, 8, 1)]
void Main(uint3 id : SV_DispatchThreadID) { Dst[id.xy] = Src.Load(int3(id.yx, 0)) + 1; }
";
    let files = [
        ("a.hlsl", kernel.to_owned()),
        (
            "same.hlsl",
            kernel.replace("Src.Load(int3(id.yx, 0))", "Src[id.yx]"),
        ),
        ("other.hlsl", kernel.replace("id.yx", "id.xy")),
    ];
    let [first, same, other] = files.map(|(name, text)| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("the folder can be written to");
        path.to_string_lossy().into_owned()
    });
    let flags = [
        "--enable-unsafe-webgpu",
        "--use-webgpu-adapter=swiftshader",
        "--mute-audio",
    ];
    let mut browser = Browser::start(program, &flags);
    for (second, outcome) in [(same, "alike"), (other, "differs")] {
        let page = report(&format!("textured-{outcome}.html"), &[&first, &second]);
        browser.open(&page);
        browser.value("document.querySelector('.run button').click()");
        browser.wait(&format!("{STATUS} !== '' && !{STATUS}.endsWith('…')"));
        assert_eq!(browser.value(STATUS), "Done: the last row is this device.");
        let said = browser.value("document.querySelector('.here').innerText");
        let said = said.as_str().unwrap_or_default();
        assert!(said.contains(outcome), "{said}");
        assert_eq!(said.contains("Dst[1][0] is "), outcome == "differs", "{said}");
        assert_eq!(browser.value("document.querySelectorAll('.here svg').length"), 0);
    }
    browser.close();
}

#[test]
fn without_webgpu_the_page_says_so() {
    let Some(program) = chromium() else { return };
    let page = report("without.html", &["fixtures/scan/ladder-64.hlsl"]);
    let mut browser = Browser::start(program, &["--disable-gpu"]);
    let no_adapter = "This browser has WebGPU, but no adapter for it: the GPU may be blocked, or turned off.";
    let no_webgpu = "This browser has no WebGPU, so nothing can be run here.";
    for (setting, expected) in [
        ("0", no_adapter),
        (
            "Object.defineProperty(navigator, 'gpu', { value: undefined }), 0",
            no_webgpu,
        ),
    ] {
        browser.open(&page);
        browser.value(setting);
        browser.value("document.querySelector('.run button').click()");
        browser.wait(&format!("{STATUS} !== '' && !{STATUS}.endsWith('…')"));
        assert_eq!(browser.value(STATUS), expected);
    }
    browser.close();
}

#[test]
fn a_page_needs_no_network() {
    let page = report("offline.html", &["fixtures/scan/ladder-64.hlsl"]);
    let html = std::fs::read_to_string(page).expect("the page can be read");
    for outside in ["src=", "@import", "url(", "fetch(", "XMLHttpRequest", "<link"] {
        assert!(!html.contains(outside), "{outside}");
    }
}

/// The times of a device, put into a page that was made without one.
#[test]
fn times_of_several_kernels_stand_by_group_size() {
    let Some(program) = chromium() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sizes");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/scan/ladder-64.hlsl");
    let ladder = std::fs::read_to_string(fixture).expect("the fixture");
    for (name, lanes) in [("first.hlsl", "128"), ("second.hlsl", "64")] {
        std::fs::write(folder.join(name), ladder.replace("64", lanes)).expect("the folder can be written to");
    }
    let page = report("sizes.html", &[&folder.to_string_lossy()]);
    let spread = |median: f64| json!({ "median": median, "min": median, "max": median });
    let row = json!({
        "adapter": "A GPU", "backend": "vulkan", "driver": "", "is_cpu": false, "waves": [32, 32],
        "outcome": "alike", "text": "all words alike", "words": 1, "kernel": null,
        "ladder": {
            "what": "part ×64", "threads": 64, "runs": 15, "ratio": 2.0, "is_measurable": true,
            "flagged": spread(2.0), "suggested": spread(1.0), "copy": spread(0.5),
        },
    });
    let html = std::fs::read_to_string(&page).expect("the page can be read");
    let timed = html.replace("\"devices\":[]", &format!("\"devices\":[{row}]"));
    std::fs::write(&page, timed).expect("the page can be written");
    let mut browser = Browser::start(program, &["--disable-gpu", "--disable-sync", "--mute-audio"]);
    browser.open(&page);
    let sizes =
        "[...document.querySelectorAll('#sizes figcaption')].map((caption) => caption.textContent).join('|')";
    let ladder = "2.00× as fastScanByLadder, part ×64";
    assert_eq!(
        browser.value(sizes),
        format!("64 threads{ladder}|128 threads{ladder}")
    );
    assert_eq!(browser.value("document.querySelectorAll('#sizes svg').length"), 2);
    browser.close();
}

/// Presses each button of a page, after `change` was done to its kernels, and returns what its devices' rows say, by file and
/// kernel. Nothing is timed.
fn pressed(browser: &mut Browser, page: &Path, change: &str) -> Vec<(String, String)> {
    browser.open(page);
    browser.value(&format!(
        "(async () => {{
  const rows = [];
  const change = {change};
  for (const [at, one] of data.kernels.entries()) {{
    const {{ file, kernel, browser }} = one;
    if (!browser || !change(one)) continue;
    browser.is_untimed = true;
    const article = document.getElementById(`kernel-${{at}}`);
    const button = article.querySelector('.run button');
    button.click();
    while (button.disabled) await new Promise((done) => setTimeout(done, 5));
    const here = article.querySelector('.here');
    rows.push([`${{file.split('/').slice(-2).join('/')}} ${{kernel}}`, here
      ? `${{here.querySelector('.chip').textContent}}: ${{here.querySelector('p').textContent}}`
      : article.querySelector('.status').textContent]);
  }}
  window.pressed = rows;
}})(), 0"
    ));
    browser.wait("window.pressed !== undefined");
    let rows = browser.value("window.pressed");
    let rows = serde_json::from_value(rows);
    rows.expect("pairs of texts")
}

/// Of each fixture that has a fix, the button says that both kernels leave the same, as the proof above it does; and it tells a
/// planted wrong scan from a right one.
#[test]
fn the_button_agrees_with_every_proof() {
    let Some(program) = chromium() else { return };
    let page = report("fixtures.html", &["fixtures/rules"]);
    let flags = [
        "--enable-unsafe-webgpu",
        "--use-webgpu-adapter=swiftshader",
        "--mute-audio",
        "--disable-sync",
    ];
    let mut browser = Browser::start(program, &flags);
    let rows = pressed(&mut browser, &page, "() => true");
    let others = rows.iter().filter(|(_, said)| !said.starts_with("alike: "));
    let others: Vec<&str> = others
        .map(|(kernel, said)| {
            let expected = match kernel.as_str() {
                // The flagged kernels are what the rule is about.
                kernel if kernel.starts_with("divergent-barrier/") => {
                    "must only be called from uniform control flow"
                }
                // A device in software allows fewer threads than a GPU does.
                _ => "The total number of workgroup invocations (1024) exceeds the maximum allowed (256)",
            };
            assert!(said.contains(expected), "{kernel}: {said}");
            kernel.as_str()
        })
        .collect();
    assert!(rows.len() > 70 && others.len() <= 3, "{rows:#?}");

    let inclusive = "({ file, browser: { suggested } }) => {
  if (!file.includes('-scan/')) return false;
  const exclusive = suggested.wgsl;
  suggested.wgsl = exclusive.replaceAll('subgroupExclusiveAdd', 'subgroupInclusiveAdd');
  return suggested.wgsl !== exclusive;
}";
    let rows = pressed(&mut browser, &page, inclusive);
    browser.close();
    assert!(rows.len() > 10, "{rows:#?}");
    let missed = rows.iter().find(|(_, said)| said.starts_with("alike: "));
    assert!(missed.is_none(), "{rows:#?}");
    // Sums of floats round; of the others groups write to the same elements, or threads to places that the data give.
    let open = rows.iter().filter(|(_, said)| !said.starts_with("differs: "));
    let open: Vec<&str> = open.map(|(kernel, _)| kernel.as_str()).collect();
    assert_eq!(
        open,
        [
            "blelloch-scan/bad-variants.hlsl Floats",
            "hillis-steele-scan/bad-published.hlsl Read",
            "hillis-steele-scan/bad-scattered.hlsl Scatters",
            "hillis-steele-scan/bad-types.hlsl Floats",
            "hillis-steele-scan/bad-vectors.hlsl Register",
        ]
    );
}
