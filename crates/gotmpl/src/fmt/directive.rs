//! `doPrintf`: the format string of `printf`, and which argument each verb formats.

use outrigger_gostd::fmt::Formatter;
use outrigger_gostd::unicode;

use super::printer::Printer;
use crate::value::Value;

/// `tooLarge`: the maximum width and precision.
const MAX_NUMBER: i64 = 1_000_000;

/// Appends the formatted arguments.
pub(super) fn print(out: &mut Vec<u8>, format: &[u8], args: &[Value]) {
    let mut reader = Reader {
        format,
        at: 0,
        args,
        next: 0,
        reordered: false,
        good_index: true,
        after_index: false,
    };
    let mut printer = Printer::new(out);
    while let Some(percent) = memchr::memchr(b'%', &format[reader.at..]) {
        if printer.is_full() {
            return;
        }
        printer
            .out
            .extend_from_slice(&format[reader.at..reader.at + percent]);
        reader.at += percent + 1;
        reader.directive(&mut printer);
    }
    printer
        .out
        .extend_from_slice(format.get(reader.at..).unwrap_or_default());
    if !reader.reordered && reader.next < args.len() {
        print_extra(&mut printer, &args[reader.next..]);
    }
}

fn print_extra(printer: &mut Printer<'_>, extra: &[Value]) {
    printer.formatter = Formatter::default();
    printer.write("%!(EXTRA ");
    for (at, arg) in extra.iter().enumerate() {
        if at > 0 {
            printer.write(", ");
        }
        if !arg.is_nil() {
            printer.write(&arg.type_name());
            printer.write("=");
        }
        printer.print(arg, 'v');
        if printer.is_full() {
            return;
        }
    }
    printer.write(")");
}

struct Reader<'f> {
    format: &'f [u8],
    at: usize,
    args: &'f [Value],
    /// The argument of the next verb.
    next: usize,
    /// The format contains an explicit index, so that unused arguments are not reported.
    reordered: bool,
    good_index: bool,
    /// An index such as `[3]` precedes the current position.
    after_index: bool,
}

impl Reader<'_> {
    /// Parses one directive after its `%`, and prints it.
    fn directive(&mut self, printer: &mut Printer<'_>) {
        self.good_index = true;
        printer.formatter = self.flags();
        self.index();
        self.width(printer);
        self.precision(printer);
        if !self.after_index {
            self.index();
        }
        let Some((verb, length)) =
            unicode::decode_rune(self.format.get(self.at..).unwrap_or_default())
        else {
            printer.write("%!(NOVERB)");
            return;
        };
        self.at += length;
        if verb == '%' {
            printer.write("%");
        } else if !self.good_index {
            mark(printer, verb, "(BADINDEX)");
        } else if let Some(arg) = self.args.get(self.next) {
            if verb == 'v' || verb == 'w' {
                printer.formatter.sharp_v = printer.formatter.sharp;
                printer.formatter.sharp = false;
                printer.formatter.plus_v = printer.formatter.plus;
                printer.formatter.plus = false;
            }
            printer.print(arg, verb);
            self.next += 1;
        } else {
            mark(printer, verb, "(MISSING)");
        }
    }

    fn peek(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    fn flags(&mut self) -> Formatter {
        let mut formatter = Formatter::default();
        while let Some(byte) = self.peek() {
            match byte {
                b'#' => formatter.sharp = true,
                b'0' => formatter.zero = true,
                b'+' => formatter.plus = true,
                b'-' => formatter.minus = true,
                b' ' => formatter.space = true,
                _ => break,
            }
            self.at += 1;
        }
        formatter
    }

    fn width(&mut self, printer: &mut Printer<'_>) {
        if self.peek() == Some(b'*') {
            self.at += 1;
            let number = self.number_from_argument();
            match number {
                None => printer.write("%!(BADWIDTH)"),
                Some(n) if n < 0 => {
                    printer.formatter.minus = true;
                    printer.formatter.zero = false;
                }
                Some(_) => {}
            }
            printer.formatter.width = number.and_then(|n| usize::try_from(n.abs()).ok());
            self.after_index = false;
            return;
        }
        printer.formatter.width = self.number();
        if self.after_index && printer.formatter.width.is_some() {
            self.good_index = false;
        }
    }

    fn precision(&mut self, printer: &mut Printer<'_>) {
        if self.peek() != Some(b'.') || self.at + 1 >= self.format.len() {
            return;
        }
        self.at += 1;
        if self.after_index {
            self.good_index = false;
        }
        self.index();
        if self.peek() == Some(b'*') {
            self.at += 1;
            let number = self.number_from_argument();
            printer.formatter.precision = number.and_then(|n| usize::try_from(n).ok());
            if printer.formatter.precision.is_none() {
                printer.write("%!(BADPREC)");
            }
            self.after_index = false;
        } else {
            printer.formatter.precision = Some(self.number().unwrap_or(0));
        }
    }

    /// `parsenum`: a run of digits. A number that is too large consumes the rest of the format, as in Go.
    fn number(&mut self) -> Option<usize> {
        let start = self.at;
        let mut number: i64 = 0;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            if number > MAX_NUMBER {
                self.at = self.format.len();
                return None;
            }
            number = number * 10 + i64::from(digit - b'0');
            self.at += 1;
        }
        (self.at > start).then_some(usize::try_from(number).ok())?
    }

    /// `intFromArg`: the value of `*`; `None` if the argument is missing, not an integer or too large.
    fn number_from_argument(&mut self) -> Option<i64> {
        let arg = self.args.get(self.next)?;
        self.next += 1;
        let number = match arg {
            Value::Int(n) | Value::Int64(n) => *n,
            Value::Uint8(n) => i64::from(*n),
            Value::Uint64(n) => i64::try_from(*n).ok()?,
            _ => return None,
        };
        (-MAX_NUMBER..=MAX_NUMBER)
            .contains(&number)
            .then_some(number)
    }

    /// `argNumber`: an explicit argument index such as `[3]`, if there is one.
    fn index(&mut self) {
        self.after_index = false;
        if self.peek() != Some(b'[') {
            return;
        }
        self.reordered = true;
        let rest = &self.format[self.at..];
        let closing = memchr::memchr(b']', rest).filter(|_| rest.len() >= 3);
        let Some(closing) = closing else {
            self.at += 1;
            self.good_index = false;
            return;
        };
        let digits = &rest[1..closing];
        self.at += closing + 1;
        let parsed = parse_index(digits);
        self.after_index = parsed.is_some();
        match parsed.and_then(|n| n.checked_sub(1)) {
            Some(index) if index < self.args.len() => self.next = index,
            _ => self.good_index = false,
        }
    }
}

fn parse_index(digits: &[u8]) -> Option<usize> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    if !is_number {
        return None;
    }
    std::str::from_utf8(digits)
        .ok()?
        .parse::<usize>()
        .ok()
        .filter(|n| *n <= 10_000_000)
}

fn mark(printer: &mut Printer<'_>, verb: char, marker: &str) {
    printer.write("%!");
    unicode::append_rune(printer.out, verb);
    printer.write(marker);
}
