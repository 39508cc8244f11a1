"""The CEL grammar: cel-python's, with what Kubernetes' dialect has beyond it.

Only the grammar file of cel-python is used. Importing the package itself would load an evaluator that selectors never
run on, and its parser class keeps one parser per process that all users must share.
"""

from importlib.machinery import SourceFileLoader
from importlib.util import find_spec

DIALECT = r"""
%override relation_in  : relation KEYWORD_IN
%override member       : member_dot | member_dot_arg | member_optional_dot | member_index | member_optional_index
                       | member_object | primary
%override member_dot   : member "." (IDENT | ESCAPED_IDENT)
member_optional_dot    : member "." "?" (IDENT | ESCAPED_IDENT)
member_optional_index  : member "[" "?" expr "]"
%override list_lit     : "[" [listinits] [","] "]"
listinits              : listinit | listinits "," listinit
listinit               : ["?"] expr
%override map_lit      : "{" [mapinits] [","] "}"
%override mapinits     : mapinit | mapinits "," mapinit
mapinit                : ["?"] expr ":" expr
%override literal      : UINT_LIT | FLOAT_LIT | INT_LIT | MLSTRING_LIT | STRING_LIT | BYTES_LIT

KEYWORD_IN             : /in(?![_a-zA-Z0-9])/
ESCAPED_IDENT          : /`[a-zA-Z0-9_.\-\/ ]+`/
%override FLOAT_LIT    : /-?(?:[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)/
%override STRING_LIT   : /(?:[rR]"[^"\n\r]*"|[rR]'[^'\n\r]*'|"(?:\\.|[^\\"\n\r])*"|'(?:\\.|[^\\'\n\r])*')/
%override MLSTRING_LIT : /(?s:[rR]"{3}.*?"{3}|[rR]'{3}.*?'{3}|"{3}(?:\\.|[^\\])*?"{3}|'{3}(?:\\.|[^\\])*?'{3})/
"""
"""Beyond cel-python: optional fields, indices and elements, trailing commas, escaped field names, whole keywords."""


def grammar_text() -> str:
    """Return the whole grammar in Lark's notation."""
    spec = find_spec("celpy")
    if spec is None or spec.submodule_search_locations is None or not isinstance(spec.loader, SourceFileLoader):
        raise ImportError("the grammar file of cel-python is not installed")
    base = spec.loader.get_data(f"{spec.submodule_search_locations[0]}/cel.lark")
    return base.decode() + DIALECT
