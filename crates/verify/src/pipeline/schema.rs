//! The text of a `pipeline.toml`.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::expression::{Expression, GROUPS, INDEX, N, RESERVED, ROW};
use super::{BUFFERS, Buffer, Computes, KernelName, Name, Pass, Pipeline, PipelineError, Reference, Repeat};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    about: String,
    computes: Computes,
    kernels: Option<Spanned<String>>,
    input: Spanned<String>,
    output: Spanned<String>,
    at_most: Option<Spanned<String>>,
    defect: Option<Spanned<String>>,
    #[serde(default, rename = "let")]
    lets: BTreeMap<Spanned<String>, Spanned<String>>,
    buffers: BTreeMap<Spanned<String>, BufferTable>,
    #[serde(default, rename = "pass")]
    passes: Vec<Spanned<PassTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BufferTable {
    length: Spanned<String>,
    count: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PassTable {
    entry: Spanned<String>,
    kernels: Option<Spanned<String>>,
    groups: Spanned<String>,
    #[serde(rename = "for")]
    repeat: Option<RepeatTable>,
    #[serde(default)]
    bind: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    set: BTreeMap<Spanned<String>, Spanned<String>>,
    swap: Option<Spanned<Vec<Spanned<String>>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RepeatTable {
    name: Spanned<String>,
    from: Spanned<String>,
    #[serde(rename = "while")]
    condition: Spanned<String>,
    next: Spanned<String>,
}

/// The maximum of names in a pipeline. Reading takes quadratic time in their number.
const LETS: usize = 64;

impl Pipeline {
    /// Reads the text of a `pipeline.toml`.
    ///
    /// # Errors
    /// At the first error of the text.
    pub fn parse(text: &str) -> Result<Pipeline, PipelineError> {
        let file: File = toml::from_str(text)
            .map_err(|error| PipelineError::new(error.message(), error.span().unwrap_or(0..0)))?;
        Reading { text }.pipeline(file)
    }
}

struct Reading<'t> {
    text: &'t str,
}

/// The entries of a table in the order of the text.
fn in_order<V>(table: BTreeMap<Spanned<String>, V>) -> Vec<(Name, V)> {
    let mut entries: Vec<(Name, V)> = table
        .into_iter()
        .map(|(key, value)| {
            let place = key.span();
            let name = key.into_inner();
            (Name { name, place }, value)
        })
        .collect();
    entries.sort_by_key(|(name, _)| name.place.start);
    entries
}

impl Reading<'_> {
    /// Where the value's own text begins; `None` if an escape shifts the text after it.
    fn start(&self, written: &Spanned<String>) -> Option<usize> {
        let place = written.span();
        let raw = self.text.get(place.clone())?;
        let mut quotes = ["\"\"\"", "'''", "\"", "'"].into_iter();
        let quote = quotes.find(|quote| raw.starts_with(quote))?;
        let mut inner = raw.get(quote.len()..)?.strip_suffix(quote)?;
        if quote.len() == 3 {
            // TOML drops a line end right after the quotes.
            let line_end = ["\r\n", "\n"].into_iter().find_map(|end| inner.strip_prefix(end));
            inner = line_end.unwrap_or(inner);
        }
        (inner == written.get_ref()).then(|| place.end - quote.len() - inner.len())
    }

    /// Reads an expression that may use the known names.
    fn expression(&self, written: &Spanned<String>, known: &[&str]) -> Result<Expression, PipelineError> {
        self.part(written, 0, written.get_ref(), known)
    }

    /// Reads an expression that begins `from` bytes into a value. If escapes hide the places inside the value, every
    /// error is at the whole value.
    fn part(
        &self,
        written: &Spanned<String>,
        from: usize,
        text: &str,
        known: &[&str],
    ) -> Result<Expression, PipelineError> {
        let start = self.start(written);
        let read = Expression::parse(text, start.map_or(0, |start| start + from))
            .and_then(|expression| expression.check(known).map(|()| expression));
        match start {
            Some(_) => read,
            None => match read {
                Ok(expression) => Ok(expression.placed(&written.span())),
                Err(error) => Err(PipelineError::new(error.message, written.span())),
            },
        }
    }

    fn pipeline(&self, file: File) -> Result<Pipeline, PipelineError> {
        let of_file = in_order(file.lets);
        if let Some((Name { place, .. }, _)) = of_file.get(LETS) {
            let message = format!("more than {LETS} names");
            return Err(PipelineError::new(message, place.clone()));
        }
        let mut known = vec![N.to_owned()];
        let mut lets = Vec::new();
        for (name, written) in of_file {
            is_free(&name, &known)?;
            let names: Vec<&str> = known.iter().map(String::as_str).collect();
            lets.push((name.name.clone(), self.expression(&written, &names)?));
            known.push(name.name);
        }
        let names: Vec<&str> = known.iter().map(String::as_str).collect();
        let buffers = self.buffers(file.buffers, &names)?;
        if file.passes.is_empty() {
            let message = "nothing to run: there is no `[[pass]]`";
            return Err(PipelineError::new(message, 0..0));
        }
        if let Some(defect) = &file.defect
            && defect.get_ref().trim().is_empty()
        {
            let message = "describe the defect; if there is none, leave this out";
            return Err(PipelineError::new(message, defect.span()));
        }
        let mut kernels: Vec<KernelName> = Vec::new();
        let mut passes = Vec::new();
        for pass in file.passes {
            passes.push(self.pass(pass, file.kernels.as_ref(), &mut kernels, &buffers, &names)?);
        }
        let at_most = file.at_most.as_ref().map(|written| self.expression(written, &[]));
        Ok(Pipeline {
            about: file.about,
            computes: file.computes,
            defect: file.defect.map(Spanned::into_inner),
            kernels,
            at_most: at_most.transpose()?,
            input: self.reference(&file.input, &buffers, &names)?,
            output: self.reference(&file.output, &buffers, &names)?,
            lets,
            buffers,
            passes,
        })
    }

    fn buffers(
        &self,
        tables: BTreeMap<Spanned<String>, BufferTable>,
        names: &[&str],
    ) -> Result<Vec<Buffer>, PipelineError> {
        let mut buffers = Vec::new();
        for (name, table) in in_order(tables) {
            if buffers.len() == BUFFERS {
                let message = format!("more than {BUFFERS} buffers");
                return Err(PipelineError::new(message, name.place));
            }
            let mut of_length = names.to_vec();
            if table.count.is_some() {
                of_length.push(INDEX);
            }
            let count = table.count.as_ref().map(|count| self.expression(count, names));
            buffers.push(Buffer {
                name: name.name,
                length: self.expression(&table.length, &of_length)?,
                count: count.transpose()?,
            });
        }
        Ok(buffers)
    }

    fn pass(
        &self,
        pass: Spanned<PassTable>,
        default_file: Option<&Spanned<String>>,
        kernels: &mut Vec<KernelName>,
        buffers: &[Buffer],
        names: &[&str],
    ) -> Result<Pass, PipelineError> {
        let place = pass.get_ref().entry.span();
        let pass = pass.into_inner();
        let Some(written) = pass.kernels.as_ref().or(default_file) else {
            let message = "this entry point has no file: write `kernels = \"….hlsl\"` here, or once above";
            return Err(PipelineError::new(message, place));
        };
        let (entry, file) = (pass.entry.into_inner(), written.get_ref().as_str());
        let is_this = |kernel: &KernelName| kernel.file == file && kernel.entry == entry;
        let kernel = kernels.iter().position(is_this).unwrap_or_else(|| {
            kernels.push(KernelName {
                file: file.to_owned(),
                entry: entry.clone(),
                place: place.clone(),
                file_place: written.span(),
            });
            kernels.len() - 1
        });
        let mut names = names.to_vec();
        let mut repeat = None;
        if let Some(table) = &pass.repeat {
            let name = Name {
                name: table.name.get_ref().clone(),
                place: table.name.span(),
            };
            let known: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            is_free(&name, &known)?;
            let from = self.expression(&table.from, &names)?;
            names.push(table.name.get_ref());
            repeat = Some(Repeat {
                name: name.name,
                from,
                condition: self.expression(&table.condition, &names)?,
                next: self.expression(&table.next, &names)?,
            });
        }
        let groups = self.expression(&pass.groups, &names)?;
        let mut bind = Vec::new();
        for (name, written) in in_order(pass.bind) {
            bind.push((name, self.reference(&written, buffers, &names)?));
        }
        let mut of_set = names.clone();
        of_set.extend([GROUPS, ROW]);
        let mut set = Vec::new();
        for (name, written) in in_order(pass.set) {
            set.push((name, self.expression(&written, &of_set)?));
        }
        let swap = pass.swap.as_ref().map(|swap| self.exchanged(swap, buffers));
        Ok(Pass {
            kernel,
            groups,
            repeat,
            bind,
            set,
            swap: swap.transpose()?,
            place,
        })
    }

    /// The two buffers of a `swap`.
    fn exchanged(
        &self,
        swap: &Spanned<Vec<Spanned<String>>>,
        buffers: &[Buffer],
    ) -> Result<(usize, usize), PipelineError> {
        let one = |written: &Spanned<String>| {
            // The name of an array of buffers, or of one buffer in it.
            let (name, _) = written
                .get_ref()
                .split_once('[')
                .unwrap_or((written.get_ref(), ""));
            let is_array = |buffer: &&Buffer| buffer.name == name.trim() && buffer.count.is_some();
            if let Some(Buffer { name, .. }) = buffers.iter().find(is_array) {
                let message =
                    format!("`{name}` names several buffers: only single buffers can change places");
                return Err(PipelineError::new(message, written.span()));
            }
            Ok(self.reference(written, buffers, &[])?.buffer)
        };
        let [first, second] = swap.get_ref().as_slice() else {
            return Err(PipelineError::new("`swap` takes two buffers", swap.span()));
        };
        let (first, second_place) = (one(first)?, second.span());
        match one(second)? {
            second if second == first => Err(PipelineError::new(
                "a buffer cannot change places with itself",
                second_place,
            )),
            second => Ok((first, second)),
        }
    }

    /// Reads `Name` or `Name[expression]`.
    fn reference(
        &self,
        written: &Spanned<String>,
        buffers: &[Buffer],
        names: &[&str],
    ) -> Result<Reference, PipelineError> {
        let place: Range<usize> = written.span();
        let error = |message: String| PipelineError::new(message, place.clone());
        let text = written.get_ref();
        let (name, index) = match text.split_once('[') {
            None => (text.trim(), None),
            Some((name, rest)) => match rest.trim_end().strip_suffix(']') {
                Some(index) => (name.trim(), Some((name.len() + 1, index))),
                None => return Err(error(format!("`{text}` has no `]`"))),
            },
        };
        let Some(buffer) = buffers.iter().position(|buffer| buffer.name == name) else {
            let known: Vec<&str> = buffers.iter().map(|buffer| buffer.name.as_str()).collect();
            return Err(error(match known.as_slice() {
                [] => format!("there is no buffer `{name}`: `[buffers]` is empty"),
                known => format!("there is no buffer `{name}`; there are {}", known.join(", ")),
            }));
        };
        let is_array = buffers.get(buffer).is_some_and(|buffer| buffer.count.is_some());
        let index = match (index, is_array) {
            (Some(_), false) => return Err(error(format!("`{name}` is one buffer: it takes no index"))),
            (None, true) => {
                return Err(error(format!(
                    "`{name}` is several buffers: choose one, as in `{name}[0]`"
                )));
            }
            (None, false) => None,
            (Some((from, index)), true) => Some(self.part(written, from, index, names)?),
        };
        Ok(Reference {
            buffer,
            index,
            written: text.split_whitespace().collect(),
            place,
        })
    }
}

fn is_free(name: &Name, known: &[String]) -> Result<(), PipelineError> {
    let Name { name, place } = name;
    if RESERVED.contains(&name.as_str()) || known.contains(name) {
        return Err(PipelineError::new(
            format!("`{name}` is already in use"),
            place.clone(),
        ));
    }
    Ok(())
}
