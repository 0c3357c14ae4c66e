//! Invocation of templates: `template`, `include` and `tpl`.

use std::rc::Rc;

use outrigger_gostd::strconv::quote_bytes;

use super::{Frame, ReflectValue, Result, State, out_of_memory};
use crate::engine::{File, TPL_NAME};
use crate::error::ExecError;
use crate::registry::Operation;
use crate::rendering::remove_no_value;
use crate::value::{Str, Value, memory};

/// The memory of a parse tree per byte of text, at most: `{{1}}` has five bytes.
const MAX_PARSE_RATIO: usize = 24;

/// A template that was looked up by name.
enum Found<'e> {
    /// A template of the engine.
    Shared {
        id: u32,
        file: &'e File,
        template: u32,
    },
    /// A template that a `tpl` text defines.
    Local { file: Rc<File>, template: u32 },
}

impl<'e> State<'e> {
    /// Executes the template `name`.
    pub(crate) fn execute(&mut self, name: &[u8], data: &Value) -> Result<()> {
        let Some(found) = self.find(name) else {
            return Err(no_template(name));
        };
        self.run_found(&found, &ReflectValue::concrete(data.clone()))
    }

    fn find(&self, name: &[u8]) -> Option<Found<'e>> {
        let shared = self.engine.find(name).and_then(|id| {
            let (file, template) = self.engine.template(id)?;
            Some(Found::Shared { id, file, template })
        });
        if self.tpl_files.is_empty() {
            return shared;
        }
        let mut empty = None;
        for file in self.tpl_files.iter().rev() {
            let templates = &file.parsed.tree.templates;
            let Some(at) = templates
                .iter()
                .position(|t| file.parsed.name_of(t) == name)
            else {
                continue;
            };
            let local = Found::Local {
                file: Rc::clone(file),
                template: crate::ir::index(at),
            };
            if !templates[at].is_empty {
                return Some(local);
            }
            empty = Some(local);
        }
        shared.or(empty)
    }

    fn run_found(&mut self, found: &Found<'_>, data: &ReflectValue) -> Result<()> {
        match found {
            Found::Shared { file, template, .. } => self.run_template(file, *template, data),
            Found::Local { file, template } => self.run_template(file, *template, data),
        }
    }

    fn run_template(&mut self, file: &File, template: u32, data: &ReflectValue) -> Result<()> {
        let Some(template) = file.parsed.tree.templates.get(template as usize) else {
            return Ok(());
        };
        let slots = self.slots.len();
        let slot_bytes = (slots + template.slots as usize) * size_of::<ReflectValue>();
        if !memory::fits(slot_bytes, self.limits().memory_bytes) {
            return Err(ExecError::plain(out_of_memory(self.limits().memory_bytes)));
        }
        self.slots.push(data.clone());
        self.slots
            .resize_with(slots + template.slots as usize, ReflectValue::default);
        let mut frame = Frame {
            file,
            template,
            slots,
            at: None,
        };
        self.template_depth += 1;
        self.walk(&mut frame, data, template.body)?;
        self.template_depth -= 1;
        self.slots.truncate(slots);
        Ok(())
    }

    /// `{{template NAME PIPELINE}}`; without a pipeline the data is nil.
    pub(super) fn template_statement(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        name: u32,
        pipe: Option<u32>,
    ) -> Result<()> {
        let name = frame.tree().literal(name);
        let Some(found) = self.find(name) else {
            let name = quote_bytes(name);
            return Err(frame.error(format!("template {name} not defined")));
        };
        self.check_depth(frame)?;
        if self.template_depth > self.limits().template_depth {
            let depth = self.limits().template_depth;
            return Err(frame.error(format!("exceeded maximum template depth ({depth})")));
        }
        let data = match pipe {
            Some(pipe) => self.pipeline(frame, dot, pipe)?,
            None => Value::Nil,
        };
        self.run_found(&found, &ReflectValue::concrete(data))
    }

    /// Appends the result of `include` or `tpl` for the arguments from `base` on. The error has no location yet.
    pub(super) fn write_text(&mut self, operation: Operation, base: usize) -> Result<()> {
        let text = match self.arguments.get(base) {
            Some(Value::Str(text)) => text.clone(),
            _ => Str::default(),
        };
        let data = self.arguments.get(base + 1).cloned().unwrap_or_default();
        match operation {
            Operation::Tpl => self.tpl(&text, data),
            _ => self.include(&text, data),
        }
    }

    fn include(&mut self, name: &Str, data: Value) -> Result<()> {
        let Some(found) = self.find(name.as_bytes()) else {
            return Err(no_template(name.as_bytes()));
        };
        let limit = self.limits().include_depth;
        let open = self.open_count(&found, name);
        if *open > limit {
            let name = name.to_text();
            return Err(ExecError::plain(format!(
                "rendering template has a nested reference name: {name}: unable to execute template"
            )));
        }
        *open += 1;
        self.run_found(&found, &ReflectValue::concrete(data))?;
        let open = self.open_count(&found, name);
        *open = open.saturating_sub(1);
        Ok(())
    }

    fn open_count(&mut self, found: &Found<'_>, name: &Str) -> &mut u32 {
        if let Found::Shared { id, .. } = found {
            let id = *id as usize;
            if id < self.open_includes.len() {
                return &mut self.open_includes[id];
            }
        }
        self.open_local_includes.entry(name.clone()).or_default()
    }

    fn tpl(&mut self, text: &Str, data: Value) -> Result<()> {
        let start = self.out.len();
        if memchr::memmem::find(text.as_bytes(), b"{{").is_none() {
            self.out.extend_from_slice(text.as_bytes());
            remove_no_value(&mut self.out, start);
            return Ok(());
        }
        let parse_bytes = text.len().saturating_mul(MAX_PARSE_RATIO);
        if !memory::fits(parse_bytes, self.limits().memory_bytes) {
            return Err(ExecError::plain(out_of_memory(self.limits().memory_bytes)));
        }
        let file = self.engine.tpl_file(text).map_err(|error| {
            let text = quote_bytes(text.as_bytes());
            ExecError::plain(error.to_string()).wrap(format!("cannot parse template {text}: "))
        })?;
        let Some(main) = file.main() else {
            return Ok(());
        };
        self.tpl_files.push(Rc::clone(&file));
        self.run_template(&file, main, &ReflectValue::concrete(data))
            .map_err(|error| {
                let text = quote_bytes(text.as_bytes());
                error.wrap(format!("error during tpl function execution for {text}: "))
            })?;
        self.tpl_files.pop();
        remove_no_value(&mut self.out, start);
        Ok(())
    }
}

fn no_template(name: &[u8]) -> ExecError {
    let name = quote_bytes(name);
    ExecError::plain(format!(
        "template: no template {name} associated with template \"{TPL_NAME}\""
    ))
}
