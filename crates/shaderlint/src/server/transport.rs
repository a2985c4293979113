//! Messages over standard input and output.
//!
//! A broken message is answered, and costs only itself: the reader goes on at the next `Content-Length:`. In JSON
//! these words cannot stand before a line break, so no message has them within.

use std::io::{self, BufRead, Read, Write};
use std::process::exit;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{bounded, unbounded};
use lsp_server::{Connection, ErrorCode, Message};
use serde_json::{Value, json};

/// The greatest length of a message. No editor sends a text of this size.
const MAX_LENGTH: u64 = 1 << 28;

/// The greatest length of a line in a header.
const MAX_LINE: u64 = 1 << 10;

/// A connection over standard input and output, and the thread that writes. This thread ends when the connection
/// is dropped and all messages are written.
pub(super) fn stdio() -> (Connection, JoinHandle<()>) {
    let (sender, messages) = unbounded::<Message>();
    let writer = thread::spawn(move || {
        for message in messages {
            if message.write(&mut io::stdout().lock()).is_err() {
                leave();
            }
        }
    });
    let (read_messages, receiver) = bounded(0);
    // It may wait for a message forever, and then ends with the program.
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Ok(Some(message)) = read(&mut input) {
            let is_over = match message {
                Ok(message) => read_messages.send(message).is_err(),
                Err(broken) => write(&broken.answer()).is_err(),
            };
            if is_over {
                break;
            }
        }
    });
    (Connection { sender, receiver }, writer)
}

/// Ends the program when the editor is gone without a word.
fn leave() -> ! {
    exit(1)
}

/// Ends the program when the process of the editor ends.
pub(super) fn end_with(process: u32) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, test_kill_process};
        use std::time::Duration;

        const PAUSE: Duration = Duration::from_secs(2);
        let Some(process) = i32::try_from(process).ok().and_then(Pid::from_raw) else {
            return;
        };
        thread::spawn(move || {
            while test_kill_process(process) != Err(rustix::io::Errno::SRCH) {
                thread::sleep(PAUSE);
            }
            leave();
        });
    }
    // Elsewhere standard input ends with the editor.
    #[cfg(not(unix))]
    let _ = process;
}

fn write(answer: &Value) -> io::Result<()> {
    let text = answer.to_string();
    let mut output = io::stdout().lock();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

/// What came in the place of a message.
struct Broken {
    code: ErrorCode,
    message: String,
    id: Value,
}

impl Broken {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Broken {
            code,
            message: message.into(),
            id: Value::Null,
        }
    }

    fn answer(&self) -> Value {
        let error = json!({ "code": self.code as i32, "message": self.message });
        json!({ "jsonrpc": "2.0", "id": self.id, "error": error })
    }
}

/// The next message. `None` at the end of the input.
fn read(input: &mut impl BufRead) -> io::Result<Option<Result<Message, Broken>>> {
    if !skip_past(input, b"content-length:")? {
        return Ok(None);
    }
    let length = line(input)?;
    let Ok(length) = length.trim().parse::<u64>() else {
        let message = format!("`{}` is not the length of a message", length.trim());
        return Ok(Some(Err(Broken::new(ErrorCode::ParseError, message))));
    };
    while !line(input)?.trim().is_empty() {}
    if length > MAX_LENGTH {
        let message = format!("a message has at most {MAX_LENGTH} bytes, not {length}");
        return Ok(Some(Err(Broken::new(ErrorCode::InvalidRequest, message))));
    }
    // Grows with the bytes that come, not with those that were announced.
    let mut text = Vec::new();
    input.by_ref().take(length).read_to_end(&mut text)?;
    if (text.len() as u64) < length {
        return Ok(None);
    }
    let read = match serde_json::from_slice::<Value>(&text) {
        Err(error) => Err(Broken::new(ErrorCode::ParseError, error.to_string())),
        Ok(value) => {
            let id = value.get("id").cloned().unwrap_or_default();
            serde_json::from_value(value).map_err(|_| Broken {
                id,
                ..Broken::new(
                    ErrorCode::InvalidRequest,
                    "neither a request nor an answer nor a notification",
                )
            })
        }
    };
    Ok(Some(read))
}

/// Skips bytes up to the end of `name`, in small or capital letters. Its first letter occurs only once in it.
fn skip_past(input: &mut impl BufRead, name: &[u8]) -> io::Result<bool> {
    let mut matched = 0;
    for byte in input.bytes() {
        let byte = byte?.to_ascii_lowercase();
        let goes_on = name.get(matched) == Some(&byte);
        matched = if goes_on {
            matched + 1
        } else {
            usize::from(name.first() == Some(&byte))
        };
        if matched == name.len() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The next line, or the beginning of a long one.
fn line(input: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}
