/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Field numbers of profile.proto (https://github.com/google/pprof/blob/main/proto/profile.proto).
 * Tests compare what is written with `protoc --decode`.
 */
enum pprof_field {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE = 2,
	PPROF_MAPPING = 3,
	PPROF_LOCATION = 4,
	PPROF_FUNCTION = 5,
	PPROF_STRING_TABLE = 6,
	PPROF_DROP_FRAMES = 7,
	PPROF_KEEP_FRAMES = 8,
	PPROF_TIME_NANOS = 9,
	PPROF_DURATION_NANOS = 10,
	PPROF_PERIOD_TYPE = 11,
	PPROF_PERIOD = 12,
	PPROF_COMMENT = 13,
	PPROF_DEFAULT_SAMPLE_TYPE = 14,
	PPROF_DOC_URL = 15,
};

enum pprof_value_type_field {
	PPROF_VALUE_TYPE_TYPE = 1,
	PPROF_VALUE_TYPE_UNIT = 2,
};

enum pprof_sample_field {
	PPROF_SAMPLE_LOCATION_ID = 1, /* leaf first */
	PPROF_SAMPLE_VALUE = 2,
	PPROF_SAMPLE_LABEL = 3,
};

enum pprof_label_field {
	PPROF_LABEL_KEY = 1,
	PPROF_LABEL_STR = 2,
	PPROF_LABEL_NUM = 3,
	PPROF_LABEL_NUM_UNIT = 4,
};

enum pprof_mapping_field {
	PPROF_MAPPING_ID = 1,
	PPROF_MAPPING_START = 2,
	PPROF_MAPPING_LIMIT = 3,
	PPROF_MAPPING_OFFSET = 4,
	PPROF_MAPPING_FILE = 5,
	PPROF_MAPPING_BUILD_ID = 6,
	PPROF_MAPPING_HAS_FUNCTIONS = 7,
	PPROF_MAPPING_HAS_FILENAMES = 8,
	PPROF_MAPPING_HAS_LINES = 9,
	PPROF_MAPPING_HAS_INLINES = 10,
};

enum pprof_location_field {
	PPROF_LOCATION_ID = 1,
	PPROF_LOCATION_MAPPING_ID = 2,
	PPROF_LOCATION_ADDRESS = 3,
	PPROF_LOCATION_LINE = 4, /* innermost inlined call first */
	PPROF_LOCATION_IS_FOLDED = 5,
	/*
	 * An enum profile_frame_kind, in locations whose kind a reader would not guess right.
	 * profile.proto lacks this field; other readers skip it, as protobuf requires.
	 */
	PPROF_LOCATION_FRAME_KIND = 1000,
};

enum pprof_line_field {
	PPROF_LINE_FUNCTION_ID = 1,
	PPROF_LINE_LINE = 2,
	PPROF_LINE_COLUMN = 3,
};

enum pprof_function_field {
	PPROF_FUNCTION_ID = 1,
	PPROF_FUNCTION_NAME = 2,
	PPROF_FUNCTION_SYSTEM_NAME = 3,
	PPROF_FUNCTION_FILE = 4,
	PPROF_FUNCTION_START_LINE = 5,
};
