//! Progress of work that takes longer than a second.

use std::time::{Duration, Instant};

use lsp_types::notification;
use lsp_types::request::WorkDoneProgressCreate;
use lsp_types::{
    NumberOrString, ProgressParams, ProgressParamsValue, WorkDoneProgress, WorkDoneProgressBegin,
    WorkDoneProgressCreateParams, WorkDoneProgressEnd, WorkDoneProgressReport,
};

use super::client::Client;

/// How long work takes before the editor shows it.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Progress {
    /// When the present work began.
    since: Option<Instant>,
    /// What the editor shows of it.
    shown: Option<String>,
    /// The number of works shown so far, which distinguishes them.
    count: u32,
}

impl Progress {
    /// When work that still goes on is to be shown.
    pub fn due(&self, client: &Client) -> Option<Instant> {
        let is_hidden = client.shows_progress && self.shown.is_none();
        self.since.filter(|_| is_hidden).map(|since| since + PATIENCE)
    }

    /// Takes note of the present work; `None` if there is none.
    pub fn update(&mut self, client: &Client, work: Option<String>) {
        let Some(work) = work else {
            self.since = None;
            if self.shown.take().is_some() {
                self.tell(client, WorkDoneProgress::End(WorkDoneProgressEnd::default()));
            }
            return;
        };
        let since = *self.since.get_or_insert_with(Instant::now);
        match &self.shown {
            None if client.shows_progress && since.elapsed() >= PATIENCE => {
                self.count += 1;
                let token = self.token();
                client.ask::<WorkDoneProgressCreate>(WorkDoneProgressCreateParams { token });
                let begin = WorkDoneProgressBegin {
                    title: "shaderlint".to_owned(),
                    message: Some(work.clone()),
                    ..WorkDoneProgressBegin::default()
                };
                self.tell(client, WorkDoneProgress::Begin(begin));
            }
            Some(shown) if *shown != work => {
                let report = WorkDoneProgressReport {
                    message: Some(work.clone()),
                    ..WorkDoneProgressReport::default()
                };
                self.tell(client, WorkDoneProgress::Report(report));
            }
            None | Some(_) => return,
        }
        self.shown = Some(work);
    }

    fn token(&self) -> NumberOrString {
        NumberOrString::String(format!("shaderlint-{}", self.count))
    }

    fn tell(&self, client: &Client, progress: WorkDoneProgress) {
        client.notify::<notification::Progress>(ProgressParams {
            token: self.token(),
            value: ProgressParamsValue::WorkDone(progress),
        });
    }
}
