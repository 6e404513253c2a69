/* example.h: field numbers of tensorflow/core/example/example.proto and feature.proto.
 *
 *     Example         { Features features = 1; }
 *     SequenceExample { Features context = 1; FeatureLists feature_lists = 2; }
 *     Features        { map<string, Feature> feature = 1; }      an entry: { key = 1; value = 2; }
 *     FeatureLists    { map<string, FeatureList> feature_list = 1; }
 *     FeatureList     { repeated Feature feature = 1; }
 *     Feature         { BytesList = 1 | FloatList = 2 | Int64List = 3 }
 *     Int64List       { repeated int64 value = 1; }        packed or one field for each value
 *
 * {"ids": [1, 300]} is
 *
 *     0a 10  Example.features, 16 bytes
 *       0a 0e  an entry, 14 bytes
 *         0a 03 "ids"   its key
 *         12 07  its value, 7 bytes
 *           1a 05  an Int64List, 5 bytes
 *             0a 03 01 ac 02   packed, 3 bytes: 1 and 300
 *
 * Read and written by hand, without a protocol-buffer library: every training sample goes through
 * here, and lists are decoded straight into the caller's array. */
#ifndef ATHANOR_FORMATS_EXAMPLE_H
#define ATHANOR_FORMATS_EXAMPLE_H

enum {
  EXAMPLE_FEATURES = 1, EXAMPLE_LISTS = 2,
  MAP_ENTRY = 1, ENTRY_KEY = 1, ENTRY_VALUE = 2,
  STEP = 1, LIST_VALUE = 1,
  FEATURE_INT64 = 3, /* the kinds of Feature are ath_feature_kind */
};

#endif
