"""Broken inputs and the exact words said about each."""

import pytest

from mlnlearn.data.load.alchemy import parse_db
from mlnlearn.errors import InputErrors
from mlnlearn.syntax import parse_mln

# Stands in front of every broken .mln text, so complaints are about line 7.
DECLARATIONS = """\
person = {Anna, Bob}
smokes(person)
friends(person,person)
age(person,num)
Rain
person motherOf(person)
"""

# Blocks of: the text, a line of dashes, the whole message; a line of equal signs between blocks.
MLN_CASES = """\
smokes(x) => cancer(x)
-----
1 problem found
a.mln:7:14: no such predicate 'cancer'
  smokes(x) => cancer(x)
               ^
  hint: declare it first, with the types of its arguments
=====
smoke(x) => Rain
-----
1 problem found
a.mln:7:1: no such predicate 'smoke'
  smoke(x) => Rain
  ^
  hint: did you mean 'smokes'?
=====
Rain => wet
-----
1 problem found
a.mln:7:9: no such predicate 'wet'
  Rain => wet
          ^
  hint: declare it first, with the types of its arguments
=====
1 smokes(x,y)
-----
1 problem found
a.mln:7:3: 'smokes' takes 1 argument, not 2
  1 smokes(x,y)
    ^
  hint: it is declared as smokes(person)
=====
smokes(x-1) => smokes(x)
-----
1 problem found
a.mln:7:8: x - 1 = v1 calculates with whole numbers, but Anna of type 'person' is none
  smokes(x-1) => smokes(x)
         ^
=====
EXIST x-y smokes(x-y)
-----
1 problem found
a.mln:7:7: 'x-y' reads as one variable, with '-' in its name
  EXIST x-y smokes(x-y)
        ^
  hint: write a difference with blanks, 'x - y', or the name with '_'; a constant stands in \
quotes: "x-y"
=====
friends(x)
-----
1 problem found
a.mln:7:1: 'friends' takes 2 arguments, not 1
  friends(x)
  ^
  hint: it is declared as friends(person,person)
=====
motherOf(x,y) = z
-----
1 problem found
a.mln:7:1: 'motherOf' takes 1 argument, not 2
  motherOf(x,y) = z
  ^
  hint: it is declared as person motherOf(person)
=====
smokes(x
-----
1 problem found
a.mln:7:9: expected ',' or ')', found end of text
  smokes(x
          ^
=====
smokes(x))
-----
1 problem found
a.mln:7:10: expected an operator or end of line, found ')'
  smokes(x))
           ^
=====
(smokes(x)
-----
1 problem found
a.mln:7:11: expected an operator or ')', found end of text
  (smokes(x)
            ^
=====
smokes(x) ^
-----
1 problem found
a.mln:7:12: expected a formula, found end of text
  smokes(x) ^
             ^
=====
^ smokes(x)
-----
1 problem found
a.mln:7:1: expected a formula, found '^'
  ^ smokes(x)
  ^
=====
smokes(x) ^ => Rain
-----
1 problem found
a.mln:7:13: expected a formula, found '=>'
  smokes(x) ^ => Rain
              ^
=====
smokes(x) smokes(y)
-----
1 problem found
a.mln:7:11: expected an operator or end of line, found 'smokes'
  smokes(x) smokes(y)
            ^
=====
~smokes(x)
-----
1 problem found
a.mln:7:1: expected a formula, found '~'
  ~smokes(x)
  ^
  hint: write '!' for not
=====
smokes(x) -> Rain
-----
1 problem found
a.mln:7:11: expected an operator or end of line, found '-'
  smokes(x) -> Rain
            ^
  hint: write '=>' for implies
=====
smokes(x) V Rain
-----
1 problem found
a.mln:7:11: expected an operator or end of line, found 'V'
  smokes(x) V Rain
            ^
=====
1.5
-----
1 problem found
a.mln:7:4: expected a formula after the weight, found end of text
  1.5
     ^
=====
1.5 smokes(x).
-----
1 problem found
a.mln:7:1: the formula has both a weight and a full stop
  1.5 smokes(x).
  ^
  hint: a full stop makes it hard: drop one of the two
=====
1e999 smokes(x)
-----
1 problem found
a.mln:7:1: the weight 1e999 is too large
  1e999 smokes(x)
  ^
  hint: end the formula in '.' to make it hard
=====
1.5 2 smokes(x)
-----
1 problem found
a.mln:7:7: expected a comparison such as '=', found 'smokes'
  1.5 2 smokes(x)
        ^
=====
smokes(Carl)
-----
1 problem found
a.mln:7:8: constant Carl is not in the closed type 'person'
  smokes(Carl)
         ^
=====
age(Carl,n) ^ age(Dan,n)
-----
2 problems found
a.mln:7:5: constant Carl is not in the closed type 'person'
  age(Carl,n) ^ age(Dan,n)
      ^
a.mln:7:19: constant Dan is not in the closed type 'person'
  age(Carl,n) ^ age(Dan,n)
                    ^
=====
x = Carl ^ smokes(x)
-----
1 problem found
a.mln:7:5: constant Carl is not in the closed type 'person'
  x = Carl ^ smokes(x)
      ^
=====
friends(x,n) ^ age(x,n)
-----
1 problem found
a.mln:7:22: variable 'n' has two types: 'person' at line 7, column 11, and 'num' here
  friends(x,n) ^ age(x,n)
                       ^
  hint: use two variables
=====
smokes(x) ^ age(y,n) ^ x = n
-----
1 problem found
a.mln:7:24: 'x' of type 'person' is compared with 'n' of type 'num'
  smokes(x) ^ age(y,n) ^ x = n
                         ^
=====
x = y
-----
2 problems found
a.mln:7:1: the type of variable 'x' is unknown
  x = y
  ^
  hint: use it in an atom as well
a.mln:7:5: the type of variable 'y' is unknown
  x = y
      ^
  hint: use it in an atom as well
=====
x != Anna
-----
1 problem found
a.mln:7:1: the type of variable 'x' is unknown
  x != Anna
  ^
  hint: use it in an atom as well
=====
smokes(n) ^ EXIST n age(x,n)
-----
1 problem found
a.mln:7:27: variable 'n' has two types: 'person' at line 7, column 8, and 'num' here
  smokes(n) ^ EXIST n age(x,n)
                            ^
  hint: use two variables
=====
smokes
-----
1 problem found
a.mln:7:1: 'smokes' needs arguments: smokes(person)
  smokes
  ^
=====
motherOf(x)
-----
1 problem found
a.mln:7:1: 'motherOf' is a function, not a formula
  motherOf(x)
  ^
  hint: compare it with a value: motherOf(x) = y
=====
smokes(x) = y
-----
1 problem found
a.mln:7:1: 'smokes' is a predicate, a term is expected
  smokes(x) = y
  ^
=====
smokes(Rain(x))
-----
1 problem found
a.mln:7:8: 'Rain' takes 0 arguments, not 1
  smokes(Rain(x))
         ^
  hint: it is declared as Rain
=====
smokes(cousinOf(x))
-----
1 problem found
a.mln:7:8: no such predicate 'cousinOf'
  smokes(cousinOf(x))
         ^
  hint: declare it first, with the types of its arguments
=====
motherOf = x
-----
2 problems found
a.mln:7:1: the type of variable 'motherOf' is unknown
  motherOf = x
  ^
  hint: use it in an atom as well
a.mln:7:12: the type of variable 'x' is unknown
  motherOf = x
             ^
  hint: use it in an atom as well
=====
EXIST smokes(x)
-----
1 problem found
a.mln:7:7: expected a variable, found 'smokes'
  EXIST smokes(x)
        ^
  hint: name the variables before the formula
=====
EXIST X smokes(X)
-----
1 problem found
a.mln:7:7: expected a variable, found 'X'
  EXIST X smokes(X)
        ^
  hint: variables start in lower case
=====
EXIST x
-----
1 problem found
a.mln:7:8: expected a formula, found end of text
  EXIST x
         ^
=====
EXIST y smokes(x)
-----
1 problem found
a.mln:7:7: variable 'y' is quantified but never used
  EXIST y smokes(x)
        ^
  hint: drop it from the quantifier
=====
FORALL x,x smokes(x)
-----
1 problem found
a.mln:7:10: a variable is bound twice by one quantifier
  FORALL x,x smokes(x)
           ^
=====
FORALL x, smokes(x)
-----
1 problem found
a.mln:7:11: expected a variable, found 'smokes'
  FORALL x, smokes(x)
            ^
  hint: name the variables before the formula
=====
EXIST x smokes(+x)
-----
1 problem found
a.mln:7:16: '+x' stands for one rule per constant, but a quantifier binds 'x'
  EXIST x smokes(+x)
                 ^
  hint: mark free variables only
=====
smokes(+Anna)
-----
1 problem found
a.mln:7:9: expected a variable after '+', found 'Anna'
  smokes(+Anna)
          ^
=====
smokes(+)
-----
1 problem found
a.mln:7:9: expected a variable after '+', found ')'
  smokes(+)
          ^
=====
*x = y
-----
1 problem found
a.mln:7:1: '*' stands only before an atom
  *x = y
  ^
  hint: write *P(x)
=====
*Rain ^ *
-----
1 problem found
a.mln:7:10: expected a formula, found end of text
  *Rain ^ *
           ^
=====
[smokes(x)
-----
1 problem found
a.mln:7:11: expected an operator or ']', found end of text
  [smokes(x)
            ^
=====
smokes(x)]
-----
1 problem found
a.mln:7:10: expected an operator or end of line, found ']'
  smokes(x)]
           ^
=====
smokes(x, )
-----
1 problem found
a.mln:7:11: expected a term, found ')'
  smokes(x, )
            ^
=====
smokes(,x)
-----
1 problem found
a.mln:7:8: expected a term, found ','
  smokes(,x)
         ^
=====
smokes(x y)
-----
1 problem found
a.mln:7:10: expected ',' or ')', found 'y'
  smokes(x y)
           ^
=====
smokes("Anna)
-----
1 problem found
a.mln:7:8: this string is never closed
  smokes("Anna)
         ^
  hint: add '"' on the same line
=====
/* no end
-----
1 problem found
a.mln:7:1: this comment is never closed
  /* no end
  ^
  hint: add '*/'
=====
smokes(x) @ Rain
-----
1 problem found
a.mln:7:11: expected an operator or end of line, found '@'
  smokes(x) @ Rain
            ^
=====
smokes(x). Rain
-----
1 problem found
a.mln:7:12: expected end of line, found 'Rain'
  smokes(x). Rain
             ^
=====
smokes(person!)
-----
1 problem found
a.mln:7:1: 'smokes' is declared already, as smokes(person)
  smokes(person!)
  ^
  hint: declare it once
=====
v(person)
-----
1 problem found
a.mln:7:1: 'v' is a word of the language
  v(person)
  ^
  hint: choose another name
=====
exist(person)
-----
1 problem found
a.mln:7:1: 'exist' is a word of the language
  exist(person)
  ^
  hint: choose another name
=====
person exist(person)
-----
1 problem found
a.mln:7:8: 'exist' is a word of the language
  person exist(person)
         ^
  hint: choose another name
=====
motherOf(person!)
-----
1 problem found
a.mln:7:1: 'motherOf' is declared already, as person motherOf(person)
  motherOf(person!)
  ^
  hint: declare it once
=====
person smokes(person)
-----
1 problem found
a.mln:7:8: 'smokes' is declared already, as smokes(person)
  person smokes(person)
         ^
  hint: declare it once
=====
num = {1,...,x}
-----
1 problem found
a.mln:7:14: 'x' reads as a variable, a constant is expected
  num = {1,...,x}
               ^
  hint: write "x" in quotes or start it in upper case
=====
num = {1,... 5}
-----
1 problem found
a.mln:7:14: expected ',', found '5'
  num = {1,... 5}
               ^
=====
num = {...}
-----
1 problem found
a.mln:7:8: expected a constant, found '...'
  num = {...}
         ^
=====
num = {...,5}
-----
1 problem found
a.mln:7:8: expected a constant, found '...'
  num = {...,5}
         ^
=====
num = {5,...,1}
-----
1 problem found
a.mln:7:14: the range runs down from 5 to 1
  num = {5,...,1}
               ^
=====
num = {1,...,99999999999}
-----
1 problem found
a.mln:7:14: the range holds more than 1,000,000 constants
  num = {1,...,99999999999}
               ^
=====
num = {A,...,5}
-----
1 problem found
a.mln:7:10: a range runs between whole numbers, not A
  num = {A,...,5}
           ^
=====
num = {1 2}
-----
1 problem found
a.mln:7:10: expected ',' or '}', found '2'
  num = {1 2}
           ^
=====
num = {1,}
-----
1 problem found
a.mln:7:10: expected a constant, found '}'
  num = {1,}
           ^
=====
num = {1, 2
-----
1 problem found
a.mln:7:12: expected ',' or '}', found end of text
  num = {1, 2
             ^
=====
3D = {A}
-----
1 problem found
a.mln:7:1: expected a type, found '3D'
  3D = {A}
  ^
=====
= {A}
-----
1 problem found
a.mln:7:1: expected a formula, found '='
  = {A}
  ^
=====
#include
-----
1 problem found
a.mln:7:9: expected a file name in quotes, found end of text
  #include
          ^
=====
#include "no.mln"
-----
1 problem found
a.mln:7:10: cannot include no.mln: cannot read the file: No such file or directory
  #include "no.mln"
           ^
=====
#include "no.mln" Rain
-----
1 problem found
a.mln:7:10: cannot include no.mln: cannot read the file: No such file or directory
  #include "no.mln" Rain
           ^
=====
#define
-----
1 problem found
a.mln:7:1: expected a formula, found '#define'
  #define
  ^
=====
smokes('Anna')
-----
1 problem found
a.mln:7:8: expected a term, found "'"
  smokes('Anna')
         ^
  hint: strings stand in double quotes
=====
age(x,1.2.3)
-----
1 problem found
a.mln:7:10: expected ',' or ')', found '.3'
  age(x,1.2.3)
           ^
=====
person brotherOf(person!)
-----
1 problem found
a.mln:7:8: a function takes no '!' marks
  person brotherOf(person!)
         ^
  hint: its value is the one marked place
=====
{Anna}
-----
1 problem found
a.mln:7:1: expected a formula, found '{'
  {Anna}
  ^
=====
{Anna: 1, Anna: 2} smokes(+x)
-----
1 problem found
a.mln:7:11: Anna has two weights
  {Anna: 1, Anna: 2} smokes(+x)
            ^
  hint: leave one of them
=====
{Anna: much} smokes(+x)
-----
1 problem found
a.mln:7:8: expected a number after ':', found 'much'
  {Anna: much} smokes(+x)
         ^
=====
{Anna: 1e999} smokes(+x)
-----
1 problem found
a.mln:7:8: expected a number after ':', found '1e999'
  {Anna: 1e999} smokes(+x)
         ^
=====
{Anna: 1} smokes(x)
-----
1 problem found
a.mln:7:1: weights by constant stand before a formula without any other, which marks one variable
  {Anna: 1} smokes(x)
  ^
  hint: mark the variable with '+', as in {A: 0.5, B: -1} p(x,+y)
=====
{Anna: 1} 2 smokes(+x)
-----
1 problem found
a.mln:7:1: weights by constant stand before a formula without any other, which marks one variable
  {Anna: 1} 2 smokes(+x)
  ^
  hint: mark the variable with '+', as in {A: 0.5, B: -1} p(x,+y)
=====
!
-----
1 problem found
a.mln:7:2: expected a formula, found end of text
  !
   ^
=====
x <
-----
1 problem found
a.mln:7:4: expected a term, found end of text
  x <
     ^
=====
3 <=
-----
1 problem found
a.mln:7:5: expected a term, found end of text
  3 <=
      ^
=====
smokes(x) v

v Rain
-----
1 problem found
a.mln:9:3: expected an operator or end of line, found 'Rain'
  v Rain
    ^
=====
(((((((((((((((((((((((((((((((((((((((((((((((((((Rain)))))))))))))))))))))))))))))))))))))))))))))))))))
-----
1 problem found
a.mln:7:51: the formula nests deeper than 50 levels
  (((((((((((((((((((((((((((((((((((((((((((((((((((Rain)))))))))))))))))))))))))))))))))))))))))))))))))))
                                                    ^
  hint: split it into several"""

DB_CASES = """\
smoks(Anna)
-----
1 problem found
a.db:1:1: no such predicate 'smoks'
  smoks(Anna)
  ^
  hint: did you mean 'smokes'?
=====
likes(Anna)
-----
1 problem found
a.db:1:1: no such predicate 'likes'
  likes(Anna)
  ^
  hint: declare it first, with the types of its arguments
=====
smokes(Anna,Bob)
-----
1 problem found
a.db:1:1: 'smokes' takes 1 argument, not 2
  smokes(Anna,Bob)
  ^
  hint: it is declared as smokes(person)
=====
friends(Anna)
-----
1 problem found
a.db:1:1: 'friends' takes 2 arguments, not 1
  friends(Anna)
  ^
  hint: it is declared as friends(person,person)
=====
Rain(Anna)
-----
1 problem found
a.db:1:1: 'Rain' takes 0 arguments, not 1
  Rain(Anna)
  ^
  hint: it is declared as Rain
=====
smokes
-----
1 problem found
a.db:1:1: 'smokes' takes 1 argument, not 0
  smokes
  ^
  hint: it is declared as smokes(person)
=====
smokes(Carl)
-----
1 problem found
a.db:1:8: constant Carl is not in the closed type 'person'
  smokes(Carl)
         ^
=====
friends(Anna,Carl)
-----
1 problem found
a.db:1:14: constant Carl is not in the closed type 'person'
  friends(Anna,Carl)
               ^
=====
Carl = motherOf(Anna)
-----
1 problem found
a.db:1:1: constant Carl is not in the closed type 'person'
  Carl = motherOf(Anna)
  ^
=====
Anna = motherOf(Carl)
-----
1 problem found
a.db:1:17: constant Carl is not in the closed type 'person'
  Anna = motherOf(Carl)
                  ^
=====
motherOf(Anna) = Carl
-----
1 problem found
a.db:1:18: constant Carl is not in the closed type 'person'
  motherOf(Anna) = Carl
                   ^
=====
smokes(Anna
-----
1 problem found
a.db:1:12: expected ',' or ')', found end of line
  smokes(Anna
             ^
=====
smokes Anna
-----
1 problem found
a.db:1:8: expected end of line, found 'Anna'
  smokes Anna
         ^
=====
smokes(Anna))
-----
1 problem found
a.db:1:13: expected end of line, found ')'
  smokes(Anna))
              ^
=====
smokes(Anna,)
-----
1 problem found
a.db:1:13: expected a constant, found ')'
  smokes(Anna,)
              ^
=====
smokes(,Anna)
-----
1 problem found
a.db:1:8: expected a constant, found ','
  smokes(,Anna)
         ^
=====
smokes(Anna;Bob)
-----
1 problem found
a.db:1:12: expected ',' or ')', found ';'
  smokes(Anna;Bob)
             ^
  hint: end a line without it
=====
smokes("Anna)
-----
1 problem found
a.db:1:8: this string is never closed
  smokes("Anna)
         ^
  hint: add '"' on the same line
=====
smokes(Anna)
!smokes(Anna)
-----
1 problem found
a.db:2:1: smokes(Anna) is false here, but true at a.db:1
  !smokes(Anna)
  ^
  hint: keep one of the two lines
=====
?smokes(Anna)
Rain
smokes(Anna)
-----
1 problem found
a.db:3:1: smokes(Anna) is true here, but unknown at a.db:1
  smokes(Anna)
  ^
  hint: keep one of the two lines
=====
!friends(Anna,Bob)
?friends(Anna,Bob)
-----
1 problem found
a.db:2:1: friends(Anna,Bob) is unknown here, but false at a.db:1
  ?friends(Anna,Bob)
  ^
  hint: keep one of the two lines
=====
Rain
!Rain
-----
1 problem found
a.db:2:1: Rain is false here, but true at a.db:1
  !Rain
  ^
  hint: keep one of the two lines
=====
motherOf(Anna,Bob)
-----
1 problem found
a.db:1:1: 'motherOf' is a function
  motherOf(Anna,Bob)
  ^
  hint: write A = motherOf(B)
=====
motherOf(Anna)
-----
1 problem found
a.db:1:1: 'motherOf' is a function
  motherOf(Anna)
  ^
  hint: write A = motherOf(B)
=====
Anna = smokes(Bob)
-----
1 problem found
a.db:1:8: 'smokes' is a predicate, not a function
  Anna = smokes(Bob)
         ^
  hint: write smokes(A)
=====
Anna =
-----
1 problem found
a.db:1:7: expected a function, found end of line
  Anna =
        ^
=====
= motherOf(Anna)
-----
1 problem found
a.db:1:1: expected an atom such as P(A), !P(A), ?P(A) or A = f(B), found '='
  = motherOf(Anna)
  ^
=====
Anna = Bob
-----
1 problem found
a.db:1:11: expected '(', found end of line
  Anna = Bob
            ^
=====
!!smokes(Anna)
-----
1 problem found
a.db:1:2: expected an atom such as P(A), !P(A), ?P(A) or A = f(B), found '!'
  !!smokes(Anna)
   ^
=====
!
-----
1 problem found
a.db:1:2: expected an atom such as P(A), !P(A), ?P(A) or A = f(B), found end of line
  !
   ^
=====
0.8 smokes(Anna)
-----
1 problem found
a.db:1:1: soft evidence, 0.8 smokes(Anna), is for queries alone
  0.8 smokes(Anna)
  ^
  hint: infer and read_evidence take it; else list ?smokes(Anna), add the rule 1.386 smokes(Anna)
=====
1.5 smokes(Anna)
-----
1 problem found
a.db:1:1: 1.5 in front of an atom is no probability
  1.5 smokes(Anna)
  ^
  hint: between 0 and 1 it is soft evidence; weights stand in the network
=====
smokes(+1)
-----
1 problem found
a.db:1:8: expected a constant, found '+1'
  smokes(+1)
         ^
=====
@
-----
1 problem found
a.db:1:1: expected an atom such as P(A), !P(A), ?P(A) or A = f(B), found '@'
  @
  ^
=====
/* no end
-----
1 problem found
a.db:1:1: this comment is never closed
  /* no end
  ^
  hint: add '*/'
=====
smokes(A-é B)
-----
1 problem found
a.db:1:12: expected ',' or ')', found 'B'
  smokes(A-é B)
             ^
=====
smoks(Anna)
friends(Anna)
smokes(Carl) // three
age(anna,3)
-----
4 problems found
a.db:1:1: no such predicate 'smoks'
  smoks(Anna)
  ^
  hint: did you mean 'smokes'?
a.db:2:1: 'friends' takes 2 arguments, not 1
  friends(Anna)
  ^
  hint: it is declared as friends(person,person)
a.db:3:8: constant Carl is not in the closed type 'person'
  smokes(Carl) // three
         ^
a.db:4:5: constant "anna" is not in the closed type 'person'
  age(anna,3)
      ^"""


def cases(table):
    """Split a table into pairs of text and message."""
    return [tuple(block.split("\n-----\n")) for block in table.split("\n=====\n")]


def message(read, *arguments):
    with pytest.raises(InputErrors) as caught:
        read(*arguments)
    return str(caught.value)


@pytest.mark.parametrize(("text", "expected"), cases(MLN_CASES))
def test_broken_mln(text, expected):
    assert message(parse_mln, DECLARATIONS + text, "a.mln") == expected


@pytest.mark.parametrize(("text", "expected"), cases(DB_CASES))
def test_broken_db(text, expected):
    schema = parse_mln(DECLARATIONS).schema
    assert message(parse_db, text, schema, "a.db") == expected


def test_the_table_is_long():
    assert len(cases(MLN_CASES)) + len(cases(DB_CASES)) >= 60


def test_beyond_a_thousand_problems_only_their_number_is_told():
    schema = parse_mln(DECLARATIONS).schema
    for line in ("likes(Anna)", "smokes(anna)", "smokes(Carl)", "smokes(Anna,Bob)"):
        with pytest.raises(InputErrors) as caught:
            parse_db(f"{line}\n" * 1500, schema)
        assert str(caught.value).startswith("1001 problems found")
        assert str(caught.value.problems[-1]).endswith("and 500 more problems like these")
