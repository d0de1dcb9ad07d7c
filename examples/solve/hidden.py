from solution import median

def test_the_list_is_left_alone():
    given = [3, 1, 2]
    median(given)
    assert given == [3, 1, 2]

def test_nothing_has_no_median():
    try:
        median([])
    except ValueError:
        return
    assert False, "an empty list was accepted"
