-- SPDX-License-Identifier: Apache-2.0
-- Fills tables, sorts, joins and searches them.
create table t(a int,b text,c real); with recursive s(x) as (select 1 union all select x+1 from s where x<600000) insert into t select x,hex(randomblob(8)),random() from s;
create index i on t(b); select count(*) from t x join t y on x.a=y.a+1 where x.b>y.b; select substr(b,1,3),count(*),sum(c) from t group by 1 order by 2 desc limit 5;
create table u as select * from t order by c; select count(*) from u where b like '%AB%C%'; select count(*) from t,(select 1 union select 2 union select 3) where b glob '*A*B*';
