module cameo/programs

go 1.17
