//! Optional field selection (`self.?field`). The CEL crate evaluates it incorrectly for missing fields, so it is rewritten
//! to optional indexing, which works.

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, operators};
use kube_cel::cel::parser::Parser;

/// Rewrites optional selection to optional indexing, also in what follows it: `self.?a.b` is optional as a whole.
pub(super) fn rewrite_optional_selects(expression: &mut IdedExpr) {
    match &mut expression.expr {
        Expr::Call(call) => {
            if call.func_name == operators::OPT_SELECT {
                operators::OPT_INDEX.clone_into(&mut call.func_name);
            }
            call.target
                .iter_mut()
                .for_each(|target| rewrite_optional_selects(target));
            call.args.iter_mut().for_each(rewrite_optional_selects);
        }
        Expr::Comprehension(comprehension) => {
            let parts = [
                &mut comprehension.iter_range,
                &mut comprehension.accu_init,
                &mut comprehension.loop_cond,
                &mut comprehension.loop_step,
                &mut comprehension.result,
            ];
            parts.into_iter().for_each(rewrite_optional_selects);
        }
        Expr::List(list) => list.elements.iter_mut().for_each(rewrite_optional_selects),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    rewrite_optional_selects(&mut entry.key);
                    rewrite_optional_selects(&mut entry.value);
                }
            }
        }
        Expr::Select(select) => rewrite_optional_selects(&mut select.operand),
        Expr::Struct(_) | Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
    rewrite_select_of_optional(expression);
}

fn rewrite_select_of_optional(expression: &mut IdedExpr) {
    let Expr::Select(select) = &mut expression.expr else {
        return;
    };
    let is_optional =
        matches!(&select.operand.expr, Expr::Call(call) if call.func_name == operators::OPT_INDEX);
    let name = Parser::default().parse(&format!("'{}'", select.field));
    if let (true, false, Ok(name)) = (is_optional, select.test, name) {
        expression.expr = Expr::Call(CallExpr {
            func_name: operators::OPT_INDEX.to_owned(),
            target: None,
            args: vec![std::mem::take(&mut *select.operand), name],
        });
    }
}
