%% SPDX-License-Identifier: Apache-2.0
%% Runs one chain of calls for a time of CPU: shapes:main(["SHAPE", "MILLISECONDS"]).
-module(shapes).
-export([main/1, burn/1, burn_dirty/1, hot/2, middle/1]).
-define(TURNS, 20000).

main([Shape, Ms]) ->
    code:ensure_loaded(shop),
    ok = load(list_to_atom(Shape)),
    repeat(list_to_atom(Shape), used() + list_to_integer(Ms)),
    erlang:halt(0, [{flush, false}]).

load(nif) -> erlang:load_nif("./shapes_nif", 0);
load(dirty) -> erlang:load_nif("./shapes_nif", 0);
load(_) -> ok.

repeat(Shape, End) ->
    true = shape(Shape) > 0,
    case used() < End of
        true -> repeat(Shape, End);
        false -> ok
    end.

used() -> element(1, statistics(runtime)).

shape(chain) -> outer(1) + 1;
shape(spawned) ->
    {_, Ref} = spawn_monitor(fun() -> exit(outer(1)) end),
    receive {'DOWN', Ref, process, _, N} -> N end;
shape('fun') -> by_fun(fun(X) -> hot(X, ?TURNS) + 1 end) + 1;
shape(list) -> lists:sum(lists:map(fun middle/1, [1, 2])) + 1;
shape(comprehension) -> lists:sum([middle(X) || X <- [1, 2]]) + 1;
shape('catch') -> catching(1) + 1;
shape(wide) -> wide(1, 2, 3, 4, 5, 6, 7, 8) + 1;
shape(recursion) -> down(150) + 1;
shape(bif) -> by_bif(lists:seq(1, 2000)) + 1;
shape(nif) -> by_nif(200000) + 1;
shape(dirty) -> by_dirty(200000) + 1;
shape(garbage) -> by_garbage(lists:seq(1, 20000)) + 1;
shape(reload) -> by_reload() + 1;
shape(elixir) -> 'Elixir.Shop':checkout(?TURNS) + 1.

outer(X) ->
    middle(X) + 1. % at outer

middle(X) ->
    Y = hot(X, ?TURNS), % at middle
    Y + 1.

hot(X, 0) -> X;
hot(X, N) ->
    case (X * 7 + N) rem 5 of % at hot
        0 -> hot(X + 1, N - 1);
        _ -> hot(X, N - 1)
    end.

by_fun(F) -> F(1) + 1.

catching(X) ->
    try middle(X) + 1
    catch throw:Y -> Y
    end.

%% Its frame has many registers.
wide(A, B, C, D, E, F, G, H) ->
    X1 = middle(A), X2 = middle(B), X3 = middle(C), X4 = middle(D),
    X5 = middle(E), X6 = middle(F), X7 = middle(G), X8 = middle(H),
    lists:sum([X1, X2, X3, X4, X5, X6, X7, X8, A, B, C, D, E, F, G, H]).

down(0) -> middle(1);
down(N) -> down(N - 1) + 1.

by_bif(List) -> byte_size(term_to_binary([List, List])) + 1.

by_nif(N) -> burn(N) + 1.

by_dirty(N) -> burn_dirty(N) + 1.

by_garbage(List) ->
    true = erlang:garbage_collect(),
    length(List) + 1.

burn(_) -> erlang:nif_error(not_loaded).

burn_dirty(_) -> erlang:nif_error(not_loaded).

%% Loads two versions of a module in turn, whose functions have other names at equal addresses.
by_reload() ->
    lists:sum([reload(Name) || Name <- [first, other]]).

reload(Name) ->
    code:purge(reloaded),
    {module, reloaded} = code:load_binary(reloaded, "reloaded.erl", binary(Name)),
    by_name(Name).

by_name(first) -> by_first() + 1;
by_name(other) -> by_other() + 1.

by_first() -> reloaded:first(10 * ?TURNS) + 1.

by_other() -> reloaded:other(10 * ?TURNS) + 1.

binary(Name) ->
    case get(Name) of
        undefined ->
            {ok, reloaded, Binary} = compile:forms(forms(Name), [binary]),
            put(Name, Binary),
            Binary;
        Binary -> Binary
    end.

forms(Name) ->
    parse("-module(reloaded). -export([" ++ atom_to_list(Name) ++ "/1]). " ++ atom_to_list(Name) ++
          "(N) -> shapes:hot(1, N) + 1. ").

parse(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    split(Tokens, []).

split([], []) -> [];
split([{dot, _} = Dot | Rest], Form) ->
    {ok, Parsed} = erl_parse:parse_form(lists:reverse([Dot | Form])),
    [Parsed | split(Rest, [])];
split([Token | Rest], Form) -> split(Rest, [Token | Form]).
