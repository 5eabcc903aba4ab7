SELECT json_group_array(json_object(
    'kernel', kernel, 'begin', json_object('seq', begin_seq, 'hash', begin_hash), 'end', json_object('seq', seq, 'hash', hash)
)) FROM (SELECT * FROM vouched_chains ORDER BY kernel)
