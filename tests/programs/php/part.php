<?php
// SPDX-License-Identifier: Apache-2.0
// A part of shapes.php that is a file of its own.
hot(20000);
