/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Field numbers of opentelemetry.proto.profiles.v1development, version 1.10
 * (https://github.com/open-telemetry/opentelemetry-proto). The protocol is in development, which is
 * why it renumbers fields between versions. Numbers that are missing here are of fields that
 * neither reader nor writer uses; readers skip them.
 */
enum otlp_request_field { OTLP_REQUEST_RESOURCE_PROFILES = 1, OTLP_REQUEST_DICTIONARY = 2 };

enum otlp_resource_profiles_field { OTLP_RP_RESOURCE = 1, OTLP_RP_SCOPE_PROFILES = 2 };

enum otlp_resource_field { OTLP_RESOURCE_ATTRIBUTES = 1 };

enum otlp_scope_profiles_field { OTLP_SP_SCOPE = 1, OTLP_SP_PROFILES = 2 };

enum otlp_scope_field { OTLP_SCOPE_NAME = 1, OTLP_SCOPE_VERSION = 2, OTLP_SCOPE_ATTRIBUTES = 3 };

enum otlp_dictionary_field {
	OTLP_DICT_MAPPING = 1,
	OTLP_DICT_LOCATION = 2,
	OTLP_DICT_FUNCTION = 3,
	OTLP_DICT_LINK = 4,
	OTLP_DICT_STRING = 5,
	OTLP_DICT_ATTRIBUTE = 6,
	OTLP_DICT_STACK = 7,
};

enum otlp_profile_field {
	OTLP_PROFILE_SAMPLE_TYPE = 1,
	OTLP_PROFILE_SAMPLES = 2,
	OTLP_PROFILE_TIME = 3,
	OTLP_PROFILE_DURATION = 4,
	OTLP_PROFILE_PERIOD_TYPE = 5,
	OTLP_PROFILE_PERIOD = 6,
	OTLP_PROFILE_ID = 7,
	OTLP_PROFILE_ATTRIBUTES = 11,
};

/* Version 1.10 renumbered Sample: values 2 to 4, attributes 3 to 2, link 4 to 3. */
enum otlp_sample_field {
	OTLP_SAMPLE_STACK = 1,
	OTLP_SAMPLE_ATTRIBUTES = 2,
	OTLP_SAMPLE_LINK = 3,
	OTLP_SAMPLE_VALUES = 4,
	OTLP_SAMPLE_TIMES = 5,

	OTLP_SAMPLE_1_9_VALUES = 2,
	OTLP_SAMPLE_1_9_ATTRIBUTES = 3,
	OTLP_SAMPLE_1_9_LINK = 4,
};

enum otlp_link_field { OTLP_LINK_TRACE = 1, OTLP_LINK_SPAN = 2 };

enum otlp_value_type_field { OTLP_VALUE_TYPE_TYPE = 1, OTLP_VALUE_TYPE_UNIT = 2 };

enum otlp_stack_field { OTLP_STACK_LOCATIONS = 1 };

enum otlp_location_field {
	OTLP_LOCATION_MAPPING = 1,
	OTLP_LOCATION_ADDRESS = 2,
	OTLP_LOCATION_LINES = 3,
	OTLP_LOCATION_ATTRIBUTES = 4,
};

enum otlp_line_field { OTLP_LINE_FUNCTION = 1, OTLP_LINE_LINE = 2, OTLP_LINE_COLUMN = 3 };

enum otlp_function_field {
	OTLP_FUNCTION_NAME = 1,
	OTLP_FUNCTION_SYSTEM_NAME = 2,
	OTLP_FUNCTION_FILE = 3,
	OTLP_FUNCTION_START_LINE = 4,
};

enum otlp_mapping_field {
	OTLP_MAPPING_START = 1,
	OTLP_MAPPING_LIMIT = 2,
	OTLP_MAPPING_OFFSET = 3,
	OTLP_MAPPING_FILE = 4,
	OTLP_MAPPING_ATTRIBUTES = 5,
};

enum otlp_attribute_field {
	OTLP_ATTRIBUTE_KEY = 1,
	OTLP_ATTRIBUTE_VALUE = 2,
	OTLP_ATTRIBUTE_UNIT = 3,
};

enum otlp_key_value_field { OTLP_KV_KEY = 1, OTLP_KV_VALUE = 2, OTLP_KV_KEY_REF = 3 };

enum otlp_any_value_field {
	OTLP_ANY_STRING = 1,
	OTLP_ANY_BOOL = 2,
	OTLP_ANY_INT = 3,
	OTLP_ANY_DOUBLE = 4,
	OTLP_ANY_BYTES = 7,
	OTLP_ANY_STRING_REF = 8,
};
